# SPDX-License-Identifier: LGPL-2.1-or-later
"""Many videos to tables, on one machine or many: each video once, whatever is killed on the way

    settings  what may be in SETTINGS.toml
    plan      inputs to items: a video, the settings, and their key
    job       one item to tables, in a process of its own
    commit    tables and markers: written aside, renamed, the marker last
    lease     which processes work in OUT now, so that gc takes nothing from them
    driver    gives items to an engine, tries again, and watches deadlines
    engines   where jobs run: processes of this machine, or Ray
    dataset   the tables of committed items
    cli       integralhist-archive

Nothing rests on the engine. A job may run twice, or go on after it was given up. It writes the
same bytes under the same names, and a rename puts them in place.
"""
