import type { DeviceTokenResponse } from '../../protocol/api/device.ts'
import { formatDuration } from '../../protocol/format.ts'
import { isSlipwayError } from '../sdk/slipway-error.ts'
import { loginCommand } from './account.ts'
import { AuthError } from './cli-error.ts'
import type { CommandContext } from './command.ts'
import { assertOwnPage } from './server.ts'
import { browse } from './terminal/browser.ts'

const PROGRAM_NAME = 'Slipway command line'

/** Shows a code and a link, and waits until the sign-in is allowed in a browser (RFC 8628). */
export async function signInByDevice(
  work: CommandContext,
  server: string,
  keyName: string,
): Promise<DeviceTokenResponse> {
  const { terminal, retryPolicy, signal } = work
  const slipway = work.connect(server, undefined)
  const code = await slipway.requestDeviceCode({ program: PROGRAM_NAME, machine: keyName })
  assertOwnPage(code.verificationUrlComplete, server)
  const login = loginCommand(work, server)
  const expires = formatDuration(code.expiresInSeconds)
  for (const line of [
    'Open this page in any browser, and compare the code:',
    '',
    `  ${code.verificationUrlComplete}`,
    `  Code: ${code.userCode}`,
    '',
    `Waiting for up to ${expires}. To get a code by email instead: ${login} --email ADDRESS`,
  ])
    terminal.printNote(line)
  if (terminal.interactive) await browse(code.verificationUrlComplete, work)
  const end = retryPolicy.now() + code.expiresInSeconds * 1000
  let { intervalSeconds } = code
  while (retryPolicy.now() < end) {
    await retryPolicy.wait(intervalSeconds * 1000, signal)
    try {
      return await slipway.exchangeDeviceCode(code.deviceCode)
    } catch (error) {
      if (isSlipwayError(error, 'SLOW_DOWN'))
        intervalSeconds = readInterval(error.details) ?? intervalSeconds + 5
      else if (!isSlipwayError(error, 'AUTHORIZATION_PENDING', 'NETWORK', 'UNAVAILABLE')) throw error
    }
  }
  throw new AuthError('The code has expired', `Start again: ${login}`)
}

function readInterval(details: unknown): number | undefined {
  const { intervalSeconds } = (details ?? {}) as { intervalSeconds?: unknown }
  return typeof intervalSeconds === 'number' && intervalSeconds <= 60 ? intervalSeconds : undefined
}
