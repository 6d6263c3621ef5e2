# SPDX-License-Identifier: LGPL-2.1-or-later
"""Frames of videos with their regions and tracks, tables of them, and archives of many videos"""
import re


def without_login(text):
    """Returns the text without the users and passwords of URLs, which must not be in a name"""
    return re.sub(r'(?<=://)[^/?#\s"]*@', '', text)


def printable(path):
    """Returns a path, which may have any bytes, as text for any table and terminal

    A byte that is not UTF-8 becomes \\xff. Backslashes that could be taken for such a byte are
    doubled, so no two paths have the same text.
    """
    path = re.sub(r'\\+(?=x[0-9a-f]{2}|[\udc80-\udcff])', r'\g<0>\g<0>', path)
    return escaped(path)


def escaped(text):
    """Escapes the bytes of a text that a terminal does not take"""
    return text.encode('utf-8', 'surrogateescape').decode('utf-8', 'backslashreplace')
