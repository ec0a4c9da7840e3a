// start.mjs loads this into the service, which it runs in a session of its own. A kill -9 of the terminal's group does
// not reach that session, but it closes this channel: the service then ends as by SIGTERM, and frees its port.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
process.channel?.unref()

// Processes that the service forks have a channel to the service instead, and rules of their own for losing it.
process.execArgv.splice(process.execArgv.indexOf('--import'), 2)
