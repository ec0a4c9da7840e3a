import { DEFAULT_WIDTH } from '../protocol/wrap.ts'
import { runCommand } from './commands/run.ts'

/** Time for what a service has not waited for, such as a request to a collector that does not answer. */
const EXIT_DELAY_MS = 1000

// What this process and its children create is readable by its user only, whatever the mode of the data folder.
process.umask(0o077)

// A reader such as `head` may close the pipe before the end of a list.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

process.exitCode = await runCommand(process.argv.slice(2), {
  env: process.env,
  execArgv: process.execArgv,
  isTerminal: process.stdout.isTTY === true,
  columns: process.stdout.columns || DEFAULT_WIDTH,
  writeOutput: (text) => void process.stdout.write(text),
  writeError: (text) => void process.stderr.write(text),
  onSignal(listener) {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, listener)
  },
})

// A service ends although something that it opened stays open, any other command when its output is read.
if (['serve', 'worker'].includes(process.argv[2] ?? 'serve'))
  setTimeout(() => process.exit(), EXIT_DELAY_MS).unref()
