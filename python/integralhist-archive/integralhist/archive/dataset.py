# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tables of committed items, and no others

    from integralhist.archive import dataset
    archive = dataset.open('out')
    archive.regions.to_table(filter=...)      # a pyarrow.dataset.Dataset
    archive.to_pandas('tracks')
    for marker in archive.videos: ...         # frames, decoders, versions, sha256
"""
import errno
import os

from integralhist.archive import commit
from integralhist.archive.plan import digest
from integralhist.archive.settings import read_settings


class Archive:
    """`settings` are by default those of the last run. Others with results in OUT can be given: the
    path of a SETTINGS.toml, or the settings of a marker"""

    def __init__(self, out, settings=None):
        if settings is None:
            settings = commit.marker(out, '', '_settings')
            if settings is None:
                raise FileNotFoundError(errno.ENOENT, 'no run was begun there, or its settings are '
                                        'damaged: give the settings',
                                        os.path.join(out, '_settings.json'))
        elif isinstance(settings, (str, os.PathLike)):
            settings = read_settings(settings)
        self.out, self.settings, self.others = out, settings, 0
        self.videos, wanted = [], digest(settings)  # 5 and 5.0 have other keys
        for marker in commit.markers(out, '_done'):
            if digest(marker['settings']) == wanted:
                self.videos.append(marker)
            else:
                self.others += 1

    def table(self, name):
        """A pyarrow.dataset.Dataset of "regions", "tracks" or "likelihood" """
        import pyarrow.dataset
        paths = [os.path.join(self.out, path) for marker in self.videos
                 for path in marker['files'] if path.startswith(f'{name}/')]
        if not paths:
            raise LookupError(f'{self.out} has no {name} of these settings: '
                              f'{len(self.videos)} videos are done with them, and {self.others} '
                              'with others. Use the settings of the run')
        return pyarrow.dataset.dataset(paths, format='parquet')

    def to_pandas(self, name, **arguments):
        """A DataFrame; `arguments` are those of Dataset.to_table, such as columns and filter"""
        return self.table(name).to_table(**arguments).to_pandas()

    regions = property(lambda self: self.table('regions'))
    tracks = property(lambda self: self.table('tracks'))
    likelihood = property(lambda self: self.table('likelihood'))


def open(out, settings=None):  # noqa: A001 (as gzip.open)
    """The Archive of a folder. Raises FileNotFoundError if no run was begun in the folder"""
    return Archive(out, settings)
