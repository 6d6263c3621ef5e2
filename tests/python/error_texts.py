#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""error_texts.py: reads the error and warning texts in the sources, and checks their form.

A text says what happened and what to do: it has an imperative such as "set" or "Put". Errors about
settings name a property. Texts of GST_ELEMENT_WARNING () end in a full stop; those of error () do
not, because post_error () adds it. The test reads literals: {} stands for a value.
"""
import ast
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERBS = ('add', 'ask', 'attach', 'build', 'check', 'choose', 'copy', 'correct', 'follow', 'give',
         'install', 'keep', 'leave', 'let', 'link', 'look', 'lower', 'make', 'name', 'pass',
         'pip install', 'put', 'raise', 'read', 'remove', 'repair', 'replace', 'run', 'scale',
         'set', 'start', 'take', 'use', 'wait', 'write')
REMEDY = re.compile(rf'(?:^|[.:;,}}>] |\b(?:and|or) )(?:{"|".join(VERBS)})\b', re.IGNORECASE)
BANNED = re.compile(r'\bnone of\b|(?:some|no|any)body|\bwho (?:asks|wants|reads)\b|\bwants?\b|'
                    r'(?<!there )\b(?:is|are) no (?!longer)|\bin parts\b|what is asked|\bis none\b')
PROPERTY = re.compile(r'[a-z]=|\{\}|\b(?:model|targets|histogram|settings|property)\b')
CALL = re.compile(r'\b(error|Error|refuse|bad_frame|bad_surface|GST_ELEMENT_(?:ERROR|WARNING)) \(')
# Kinds of errors without a remedy: a device, the driver or a library failed, or the pipeline stops
NO_REMEDY = 'failed', 'flushing'
# Files whose refuse () or bad_frame () adds the remedy to each text
REFUSE_HAS_REMEDY = ('elements/base/parse.cpp', 'elements/base/text_reader.hpp',
                     'integralhistlikelihood/model_text.cpp', 'producer/producer_properties.cpp',
                     'frame/mapped_frame.cpp')
EXCEPTIONS = {
    '={}: {}; {}': 'TextReader gets the remedy as an argument',
    'The NVMM frame cannot be read: {}': 'each call of bad_surface () has the remedy',
    'The batch cannot be read: {}': 'each call of bad_frame () or refuse () has the remedy',
    'The scores of lut stay as they are: %s.': 'the error of the event has the remedy',
    '%s. Until then the property %s stays %s.': 'the error of the value has the remedy',
    'll-config-file={}: {}': 'the error of the file has the remedy',
    'there is no NVIDIA driver': 'it becomes a part of errors that say what to set',
    'CUDA: {}': 'CUDA itself had no memory, and says no more',
}
CONSTANT = re.compile(r'constexpr (?:const )?char (?:\*(?:const )?)?(k\w+)(?:\[\])? = ("[^;]*");')


def strings_of(arguments):
    """the literals of C++ arguments joined, with {} for what is between them"""
    text, between = '', False
    for quoted, other in re.findall(r'"((?:[^"\\]|\\.)*)"|([^"\s])', arguments):
        if other:
            between = between or other not in ',()'
            continue
        text += ('{}' if between and text else '') + quoted
        between = False
    return (text + ('{}' if between else '')).replace('\\"', '"').replace('%%', '%')


def arguments_at(source, at):
    """the text up to the parenthesis that closes the one before `at`"""
    depth = 1
    for match in re.compile(r'"(?:[^"\\]|\\.)*"|[()]').finditer(source, at):
        depth += {'(': 1, ')': -1}.get(match[0], 0)
        if depth == 0:
            return source[at:match.start()]
    raise ValueError(source[at:at + 80])


def cpp_texts():
    """where, kind and text of each error in C and C++"""
    for path in sorted((ROOT / 'gst').rglob('*.[ch]pp')):
        source = re.sub(r'^\s*///?.*$', '', path.read_text('utf-8'), flags=re.MULTILINE)
        name = str(path.relative_to(ROOT))
        for constant, literal in CONSTANT.findall(source):
            source = re.sub(rf'([,)] ?|, \n *)\b{constant}\b', lambda m: m[1] + literal, source)
        for match in CALL.finditer(source):
            arguments = arguments_at(source, match.end())
            kind = re.search(r'Error::Kind::(\w+)', arguments)
            if match[1].startswith('GST'):  # element, domain, code, (text, ...), (detail)
                kind = arguments.split(',')[2].strip()
                arguments = arguments_at(arguments, arguments.index('(') + 1)
                arguments = re.match(r'(?:\s|"(?:[^"\\]|\\.)*")*', arguments)[0]
            elif match[1] in ('refuse', 'bad_frame', 'bad_surface'):
                kind = 'refuse' if not name.endswith(REFUSE_HAS_REMEDY) else 'failed'
            else:
                if not kind:
                    continue
                arguments, kind = arguments[kind.end():], kind[1]
            text = strings_of(arguments)
            if '"' in arguments and text not in ('%s', '{}'):
                yield name, kind, text


# Exceptions of Python about what a user has given: these say what to do. Others may report facts.
GIVEN = ('ArgumentTypeError', 'BufferError', 'PlanError', 'TypeError', 'ValueError', 'Wrong',
         'parser.error')
FACTS = 'no such file', 'This build lacks'  # what to do is plain, or is said by the same words


def text_of(node):
    """the literals of a Python expression, with {} for the rest"""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return ''.join(map(text_of, node.values))
    if isinstance(node, ast.BinOp):
        return text_of(node.left) + text_of(node.right)
    if isinstance(node, ast.IfExp):
        return f'{text_of(node.body)} {text_of(node.orelse)}'
    return '{}'


def python_texts():
    """where, function and text of each exception or exit in Python"""
    for path in sorted(file for folder in ('python', 'examples', 'tools')
                       for file in (ROOT / folder).rglob('*')
                       if file.is_file() and not {'build', 'venv', '.venv'} & {*file.parts}):
        head = path.read_bytes()[:64].split(b'\n')[0]
        if path.suffix != '.py' and not (head.startswith(b'#!') and b'python' in head):
            continue
        for node in ast.walk(ast.parse(path.read_text('utf-8'))):
            call = node.exc if isinstance(node, ast.Raise) else node
            if not isinstance(call, ast.Call):
                continue
            function = ast.unparse(call.func)
            if call is not node or function in ('parser.error', 'sys.exit'):
                for argument in call.args:
                    yield path.relative_to(ROOT), function, text_of(argument)


class ErrorTexts(unittest.TestCase):
    def test_python(self):
        texts = [found for found in python_texts() if len(re.findall('[a-z]{2,}', found[2])) > 1]
        self.assertGreater(len(texts), 80)
        for name, function, text in texts:
            with self.subTest(f'{name}: {function}: {text}'):
                self.assertNotRegex(text, BANNED)
                if function.endswith(GIVEN) and not any(fact in text for fact in FACTS):
                    self.assertRegex(text, REMEDY)

    def test_cpp(self):
        texts = list(cpp_texts())
        self.assertGreater(len(texts), 120)
        for name, kind, text in texts:
            with self.subTest(f'{name}: {kind}: {text}'):
                self.assertNotRegex(text, BANNED)
                if kind.isupper():
                    self.assertRegex(text, r'\.$')
                if kind not in NO_REMEDY and not text.startswith(tuple(EXCEPTIONS)):
                    self.assertRegex(text, REMEDY)
                if kind in ('bad_setting', 'SETTINGS'):
                    self.assertRegex(text, PROPERTY)


if __name__ == '__main__':
    unittest.main(verbosity=1)
