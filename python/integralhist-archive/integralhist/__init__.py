# SPDX-License-Identifier: LGPL-2.1-or-later
"""Frames of videos with their regions and tracks, tables of them, and archives of many videos"""
import re


def without_login(text):
    """Users and passwords of the URLs in it are no part of a name"""
    return re.sub(r'(?<=://)[^/@\s"]*@', '', text)
