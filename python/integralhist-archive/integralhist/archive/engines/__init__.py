# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where jobs run. An engine has

    is_shared               whether others use it too, so that a job may wait for a place
    slots ()                how many jobs may run at once, now; EngineGone if it has ended
    start (item)            starts a job; returns a handle
    wait (handles, seconds) [(handle, Outcome)] of those that have ended
    stop (handle)           ends a job, or forgets it
    close ()
"""


class EngineGone(Exception):
    """The engine can start no job, and does not know what became of the running jobs"""
