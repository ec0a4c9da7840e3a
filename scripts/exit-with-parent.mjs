// start.mjs preloads this into the service, which runs in a session of its own. A kill -9 of the terminal's
// process group does not reach that session, but it closes this channel: the service then ends as by SIGTERM,
// and frees its port.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
process.channel?.unref()

// Processes that the service forks have a channel to the service instead, with their own handling of its
// loss.
process.execArgv.splice(process.execArgv.indexOf('--import'), 2)
