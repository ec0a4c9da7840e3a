import { COMMAND_LINE_CLIENT, type DeviceToken } from '../../protocol/api/device.ts'
import { formatDuration } from '../../protocol/format.ts'
import { mayPass } from '../sdk/retry.ts'
import { isSlipwayError } from '../sdk/slipway-error.ts'
import { loginCommand } from './account.ts'
import { AuthError } from './cli-error.ts'
import type { CommandContext } from './command.ts'
import { assertOwnPage } from './server.ts'
import { browse } from './terminal/browser.ts'

/** Between two requests, if the server names no number (RFC 8628, section 3.2). */
const DEFAULT_INTERVAL_SECONDS = 5

/** A server cannot make the client wait longer between its requests, or not at all. */
const MAX_INTERVAL_SECONDS = 60

/** What a client adds to the interval of its requests when it is too fast (RFC 8628, section 3.5). */
const SLOWER_SECONDS = 5

/** Shows a code and a link, and waits until the sign-in is allowed in a browser (RFC 8628). */
export async function signInByDevice(
  work: CommandContext,
  server: string,
  keyName: string,
): Promise<DeviceToken> {
  const { terminal, retryPolicy, signal } = work
  const slipway = work.connect(server, undefined)
  const code = await slipway.requestDeviceCode({ client_id: COMMAND_LINE_CLIENT, machine: keyName })
  assertOwnPage(code.verification_uri_complete, server)
  const login = loginCommand(work, server)
  const expires = formatDuration(code.expires_in)
  for (const line of [
    'Open this page in any browser, and compare the code:',
    '',
    `  ${code.verification_uri_complete}`,
    `  Code: ${code.user_code}`,
    '',
    `Waiting for up to ${expires}. To get a code by email instead: ${login} --email ADDRESS`,
  ])
    terminal.printNote(line)
  if (terminal.interactive) await browse(code.verification_uri_complete, work)
  const end = retryPolicy.now() + code.expires_in * 1000
  let failure: unknown
  let interval = Math.max(Number.isFinite(code.interval) ? code.interval : DEFAULT_INTERVAL_SECONDS, 1)
  while (retryPolicy.now() < end) {
    interval = Math.min(interval, MAX_INTERVAL_SECONDS)
    await retryPolicy.wait(interval * 1000, signal)
    try {
      return await slipway.exchangeDeviceCode(COMMAND_LINE_CLIENT, code.device_code)
    } catch (error) {
      const isPending = isSlipwayError(error, 'AUTHORIZATION_PENDING')
      const isTooFast = isSlipwayError(error, 'SLOW_DOWN')
      failure = isPending || isTooFast ? undefined : error
      if (isTooFast) interval += SLOWER_SECONDS
      if (isPending || isTooFast) continue
      if (!mayPass(error)) throw error
      await retryPolicy.wait(Math.min((error.retryAfterSeconds ?? 0) * 1000, end - retryPolicy.now()), signal)
    }
  }
  if (failure !== undefined) throw failure
  throw new AuthError('The code has expired', `Start again: ${login}`)
}
