import { type Command, SERVER_OPTION, text } from './command.ts'
import { chooseServer, namedServer } from './server.ts'

/** `slipway logout` */
export const logout: Command = {
  name: 'logout',
  operands: '',
  most: 0,
  summary: 'Forget the key on this machine',
  about: `
Forgets the key of a server on this machine. The key itself goes on working where else it is kept;
signing in again ends it.`,
  options: { server: SERVER_OPTION },
  async run({ settings, keyring, terminal }, options) {
    const server = chooseServer(namedServer(text(options, 'server'), settings), undefined, keyring)
    const forgotten = keyring.forget(server)
    terminal.say(forgotten ? `Signed out of ${server}.` : `You were not signed in at ${server}.`)
  },
}
