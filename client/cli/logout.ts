import { resolveServer } from './account.ts'
import { type Command, SERVER_OPTION } from './command.ts'

/** `slipway logout` */
export const logout: Command = {
  name: 'logout',
  operands: '',
  maxOperands: 0,
  summary: 'Forget the key on this machine',
  about: `
Forgets the key of a server on this machine. The key itself goes on working where else it is kept;
signing in again ends it.`,
  options: { server: SERVER_OPTION },
  async run(work, options) {
    const server = resolveServer(work, options)
    const forgotten = work.credentials.forget(server)
    work.terminal.printNote(forgotten ? `Signed out of ${server}.` : `You were not signed in at ${server}.`)
  },
}
