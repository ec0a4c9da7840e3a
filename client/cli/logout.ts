import { isSlipwayError } from '../sdk/slipway-error.ts'
import { signInServer } from './account.ts'
import {
  type Command,
  type CommandContext,
  JSON_OPTION,
  printResult,
  SIGN_IN_SERVER_OPTION,
} from './command.ts'

/** `slipway logout` */
export const logout: Command = {
  name: 'logout',
  operands: '',
  summary: 'Sign out on this machine',
  about: `
Deletes the key of this machine, here and on the server. Keys of other machines and of CI stay valid.`,
  options: { json: JSON_OPTION, server: SIGN_IN_SERVER_OPTION },
  async run(work, options) {
    const { credentials, terminal } = work
    const server = signInServer(work, options)
    const signedOut = credentials.keyFor(server) !== undefined
    await endNamedKey(work, server)
    credentials.forget(server)
    printResult(work, options, { server, signedOut }, () =>
      terminal.printNote(signedOut ? `Signed out of ${server}` : `You weren't signed in to ${server}`),
    )
  },
}

/** A key without a name may be in use elsewhere. Signing out succeeds here even when the server cannot be reached. */
async function endNamedKey(
  { credentials, connect, terminal }: CommandContext,
  server: string,
): Promise<void> {
  const key = credentials.namedKeyFor(server)
  if (key === undefined) return
  try {
    await connect(server, key).endKey()
  } catch (error) {
    if (!isSlipwayError(error)) throw error
    if (error.code === 'UNAUTHORIZED') return
    terminal.printNote(`The key is still valid on the server: ${error.message}`)
  }
}
