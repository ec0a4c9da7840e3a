import { resolveServer } from './account.ts'
import { type Command, SERVER_OPTION, stringOption } from './command.ts'
import { signIn } from './sign-in.ts'

/** `slipway login` */
export const login: Command = {
  name: 'login',
  operands: '',
  maxOperands: 0,
  summary: 'Sign in with a mailed code',
  about: `
Mails a code, asks for it, and remembers the key it brings and the server, readable by you only.
Signing in makes a new key and ends the one before, on every machine.

A program does it in two steps: --email ADDRESS, then --email ADDRESS --code CODE.`,
  options: {
    email: { type: 'string', value: 'ADDRESS', help: 'Where the code goes, instead of asking' },
    code: { type: 'string', value: 'CODE', help: 'The code that came, instead of sending one' },
    server: SERVER_OPTION,
  },
  async run(work, options) {
    const { settings, terminal } = work
    const server = resolveServer(work, options)
    const key = await signIn(work, server, {
      email: stringOption(options, 'email'),
      code: stringOption(options, 'code'),
    })
    if (key === undefined) return
    terminal.printNote('What you publish from here is yours and does not expire.')
    if (settings.key)
      terminal.printNote('SLIPWAY_KEY is set and goes before the key that was just remembered.')
  },
}
