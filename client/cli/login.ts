import { serverOf } from './account.ts'
import { type Command, SERVER_OPTION, text } from './command.ts'
import { signIn } from './sign-in.ts'

/** `slipway login` */
export const login: Command = {
  name: 'login',
  operands: '',
  most: 0,
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
    const server = serverOf(work, options)
    const key = await signIn(work, server, { email: text(options, 'email'), code: text(options, 'code') })
    if (key === undefined) return
    terminal.say('What you publish from here is yours and does not expire.')
    if (settings.key) terminal.say('SLIPWAY_KEY is set and goes before the key that was just remembered.')
  },
}
