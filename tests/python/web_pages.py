#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The documentation as web pages, as `meson compile docs` has written them.

Every link leads somewhere, and every page is found by links. Lists and tables have as many lines as
the Markdown. gi-docgen finds nothing without a comment. Chromium, where it is installed, draws
three pages with their pictures and the film.

Environment:
  BUILD_ROOT=folder  the build directory, configured with -Ddocs=auto or -Ddocs=enabled
"""
import glob
import html.parser
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
import urllib.parse

import numpy
from pipelines import ROOT, decode

BUILD = os.path.abspath(os.environ.get('BUILD_ROOT', os.path.join(ROOT, 'build')))
SITE = os.path.join(BUILD, 'docs/gst-integralhist')
GIR = os.path.join(BUILD, 'gst/integralhist/GstIntegralHist-1.0.gir')
CONFIG = os.path.join(BUILD, 'docs/api.toml')
MARKDOWN = ['README.md', 'CONTRIBUTING.md', 'NEWS.md', 'examples/README.md',
            'tests/fuzz/README.md', *sorted(
                os.path.relpath(path, ROOT)
                for path in glob.glob(os.path.join(ROOT, 'docs/**/*.md'), recursive=True))]
CHROMIUM = shutil.which('chromium')
TIMEOUT = 120
WIDTH, HEIGHT = 1280, 1400
# writes into the page what a reader would see of its pictures and films
WATCH = '''<script>
window.addEventListener('load', async () => {
  for (const film of document.querySelectorAll('video'))
    if (film.readyState < 2)
      await new Promise(done => {
        film.addEventListener('loadeddata', done);
        film.addEventListener('error', done);
      });
  const seen = [...document.querySelectorAll('#main > section > .page > p > img, video')];
  const told = document.createElement('pre');
  told.id = 'seen';
  told.textContent = seen.map(e => e.tagName + ' ' + decodeURI(e.src).split('/').pop() + ' ' +
      (e.naturalWidth || e.videoWidth) + ' ' + (e.videoWidth ? e.duration : 0)).join('\\n');
  document.body.append(told);
});
</script></body>'''


def read(path):
    return pathlib.Path(path).read_text(encoding='utf-8')


class Page(html.parser.HTMLParser):
    """The parts of a page: anchors, links, list items, rows of tables, text outside of code"""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.title = set(), [], ''
        self.items = self.rows = 0
        self.text, self.open = [], []
        self.feed(read(path))

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.anchors |= {attributes[name] for name in ('id', 'name') if name in attributes}
        self.links += [attributes[name] for name in ('href', 'src', 'poster')
                       if name in attributes]
        self.items += tag == 'li' and 'toc-list-item' not in attributes.get('class', '')
        self.rows += tag == 'tr'
        if tag in ('pre', 'code', 'title', 'style', 'script'):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if self.open and self.open[-1] == tag:
            self.open.pop()

    def handle_data(self, data):
        if self.open == ['title']:
            self.title += data
        elif not self.open:
            self.text.append(data)


def page_of(source):
    folder, name = os.path.split(source)
    return os.path.join(folder, 'index.html' if name == 'README.md' else name[:-3] + '.html')


def chromium(folder, url, *arguments):
    process = subprocess.run(
        ['timeout', str(TIMEOUT), CHROMIUM, '--headless=new', '--no-sandbox', '--disable-gpu',
         '--hide-scrollbars', f'--window-size={WIDTH},{HEIGHT}', '--virtual-time-budget=10000',
         f'--user-data-dir={folder}/profile', *arguments, url],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if process.returncode:
        raise AssertionError(f'chromium ended with {process.returncode}: {process.stderr[-2000:]}')
    return process.stdout


@unittest.skipUnless(os.path.exists(GIR), 'built without introspection')
@unittest.skipUnless(os.path.exists(CONFIG), 'built without docs')
class Comments(unittest.TestCase):
    def test_complete(self):
        """Everything in the API has a comment, with its arguments and what it returns."""
        process = subprocess.run(
            ['gi-docgen', 'check', '--quiet', '--config', CONFIG, GIR],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual((process.returncode, process.stdout), (0, ''))


@unittest.skipUnless(os.path.exists(SITE), 'built without docs')
class Links(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pages = {os.path.relpath(path, SITE): Page(path) for path in glob.glob(
            os.path.join(SITE, '**/*.html'), recursive=True)}

    def test_links(self):
        """Linked files and anchors exist, and links lead from the front page to every page."""
        leads, linked = {}, 0
        for name, page in self.pages.items():
            leads[name] = set()
            for link in page.links:
                with self.subTest(page=name, link=link):
                    url = urllib.parse.urlsplit(link)
                    if url.scheme:
                        self.assertIn(url.scheme, ('http', 'https'))
                        self.assertRegex(url.netloc, r'^[\w-]+(\.[\w-]+)+$')
                        self.assertNotRegex(link, r'\s')
                        continue
                    there = os.path.normpath(os.path.join(
                        os.path.dirname(name), urllib.parse.unquote(url.path))) \
                        if url.path else name
                    self.assertTrue(os.path.isfile(os.path.join(SITE, there)), 'no such file')
                    leads[name].add(there)
                    if url.fragment:
                        self.assertIn(urllib.parse.unquote(url.fragment),
                                      self.pages[there].anchors)
                    linked += 1
        self.assertGreater(linked, 3000)
        reached, ahead = set(), ['index.html']
        while ahead:
            name = ahead.pop()
            if name not in reached:
                reached.add(name)
                ahead += leads.get(name, ())
        self.assertEqual(set(self.pages) - reached, set())

    def test_every_page(self):
        """Each page of Markdown has a web page with its title, lists and tables, and no more."""
        for source in MARKDOWN:
            with self.subTest(source=source):
                page = self.pages[page_of(source)]
                text = re.sub(r'^(```|~~~).*?^\1', '', read(os.path.join(ROOT, source)),
                              flags=re.M | re.S)
                self.assertIn(re.search(r'^# (.*)', text, re.M).group(1), page.title)
                self.assertEqual(
                    page.items, len(re.findall(r'^\s*(?:-|\d\.) \S', text, re.M)))
                rows = len(re.findall(r'^\s*\|', text, re.M))
                lines = len(re.findall(r'^\s*\|[-:| ]+\|$', text, re.M))
                self.assertEqual(page.rows, rows - lines)
                self.assertNotRegex(''.join(page.text), r'\]\(|```|\*\*|^#+ ')

    def test_names(self):
        """API names in pages, and in the API's own comments, link to the API."""
        pages = {name: set(page.links) for name, page in self.pages.items()}
        self.assertIn('../api/method.IntegralHistogram.add_reader.html',
                      pages['docs/asking.html'])
        self.assertIn('method.IntegralHistogram.get_content.html',
                      {link.split('/')[-1] for link in pages['api/struct.IntegralHistogram.html']})
        self.assertIn('elements.html#integralhistlikelihood', pages['docs/tracking.html'])


@unittest.skipUnless(os.path.exists(SITE), 'built without docs')
@unittest.skipUnless(CHROMIUM, 'there is no chromium')
class Drawn(unittest.TestCase):
    """As Chromium draws it"""

    def look_at(self, name):
        """(text of the page with what it shows, pixels)"""
        with tempfile.TemporaryDirectory() as folder:
            site = os.path.join(folder, 'site')
            shutil.copytree(SITE, site)
            path = os.path.join(site, name)
            text = read(path)
            self.assertEqual(text.count('</body>'), 1)
            pathlib.Path(path).write_text(text.replace('</body>', WATCH), encoding='utf-8')
            shot = os.path.join(folder, 'shot.png')
            dom = chromium(folder, f'file://{path}', '--dump-dom')
            chromium(folder, f'file://{path}', f'--screenshot={shot}')
            picture, = decode(shot, 'pngdec', WIDTH, HEIGHT)
        # of columns of the sidebar and of the text, neither is blank
        for part, colours in (picture[:, :300], 20), (picture[:, 400:1000], 50):
            self.assertGreater(len(numpy.unique(part.reshape(-1, 3), axis=0)), colours)
        dark = (picture[:, :200].max(axis=2) < 64).mean()
        self.assertGreater(dark, 0.5, 'the sidebar has no style')
        seen = re.search(r'<pre id="seen">(.*?)</pre>', dom, re.S)
        self.assertTrue(seen, 'no script ran')
        return dom, [line.split() for line in seen.group(1).splitlines()], picture

    def test_front(self):
        dom, seen, picture = self.look_at('index.html')
        self.assertIn('<title>gst-integralhist</title>', dom)
        self.assertEqual([line[:3] for line in seen], [['VIDEO', 'trackdemo.webm', '640']])
        self.assertAlmostEqual(float(seen[0][3]), 5, delta=0.2)
        # the film's street is in colours, which text is not
        colourful = (numpy.ptp(picture[:, 400:1000], axis=2) > 40).mean()
        self.assertGreater(colourful, 0.1)

    def test_struct(self):
        dom, seen, _ = self.look_at('api/struct.IntegralHistogram.html')
        self.assertIn('get_cuda_event', dom)
        self.assertEqual(seen, [])

    def test_pictures(self):
        _, seen, _ = self.look_at('docs/features.html')
        pictures = re.findall(r'!\[[^\]]*\]\(images/([^)]*)\)',
                              read(os.path.join(ROOT, 'docs/features.md')))
        self.assertGreater(len(pictures), 1)
        self.assertEqual([line[:2] for line in seen], [['IMG', name] for name in pictures])
        for _, name, width, _ in seen:
            self.assertGreater(int(width), 300, name)


if __name__ == '__main__':
    unittest.main(verbosity=2)
