# SPDX-License-Identifier: LGPL-2.1-or-later
"""Frames of videos with their regions and tracks, tables of them, and archives of many videos"""
import re


def without_login(text):
    """Users and passwords of the URLs in it are no part of a name"""
    return re.sub(r'(?<=://)[^/?#\s"]*@', '', text)


def printable(path):
    """A text that any table and terminal takes, of a path that may have any bytes"""
    return path.encode('utf-8', 'surrogateescape').decode('utf-8', 'backslashreplace')
