"""Types that were seen while the user's own code ran: how they are kept, and how they are gathered.

==============  ==============================================================================
`observed`      the facts, and the file that keeps them
`spelling`      how a type is written there
`definitions`   what of a source tree is watched: functions, classes, names of attributes
`gather`        runs the user's command; jit_runtime.observe watches inside it
`command`       ``jit-transpile observe``
==============  ==============================================================================
"""
