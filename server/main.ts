import { DEFAULT_WIDTH } from '../protocol/wrap.ts'
import { runCommand } from './commands/run.ts'

/** Time for what a service has not waited for, such as a request to a collector that does not answer. */
const EXIT_DELAY_MS = 1000

// What this process and its children create is readable by its user only, whatever the mode of the data folder.
process.umask(0o077)

const isService = ['serve', 'worker'].includes(process.argv[2] ?? 'serve')

// A service continues without its log, and a reader such as `head` may close the pipe before the end of a list. A command
// completes its work, and fails.
process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  if (isService || code === 'EPIPE' || process.exitCode === 1) return
  process.stderr.write(`slipway-server: the output cannot be written: ${message}\n`)
  process.exitCode = 1
})
process.stderr.on('error', () => undefined)

/** Of the log, while its reader does not read; the metric of failures counts what is lost then. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024

const write = (stream: NodeJS.WriteStream, text: string) => {
  if (isService && stream.writableLength > MAX_WAITING_BYTES)
    stream.emit('error', new Error('the reader of the output does not read'))
  else stream.write(text)
}

const exitCode = await runCommand(process.argv.slice(2), {
  env: process.env,
  execArgv: process.execArgv,
  isTerminal: process.stdout.isTTY === true,
  columns: process.stdout.columns || DEFAULT_WIDTH,
  writeOutput: (text) => write(process.stdout, text),
  writeError: (text) => write(process.stderr, text),
  onSignal(listener) {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, listener)
  },
})

process.exitCode ||= exitCode

// A service ends although something that it opened stays open, any other command when its output is read.
if (isService) setTimeout(() => process.exit(), EXIT_DELAY_MS).unref()
