import { once } from 'node:events'
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'
import { MINUTE_MS } from '../../server/lib/time.ts'

// Preloaded into the processes of a service by a test: with SLIPWAY_READY_SECONDS=600, SIGUSR2 ends the time in which they are not
// ready and accept connections, so that no test has to be faster than it.
const { setTimeout: pause } = timers
const ended = once(process, 'SIGUSR2')
timers.setTimeout = async (milliseconds, value, options) => {
  if (milliseconds !== 10 * MINUTE_MS) return pause(milliseconds, value, options)
  await ended
  return value!
}
syncBuiltinESMExports()
