import { signInServer } from './account.ts'
import { UsageError } from './cli-error.ts'
import { type Command, JSON_OPTION, printResult, SIGN_IN_SERVER_OPTION, stringOption } from './command.ts'
import { signIn } from './sign-in.ts'

/** `slipway login` */
export const login: Command = {
  name: 'login',
  operands: '',
  summary: 'Sign in',
  about: `
Shows a code and a link, waits until you allow it in a browser, on any device, and stores an API key for this machine,
readable only by you. The key has the name user@host: signing in again here replaces it, and keys of other machines and of
CI stay valid.

--email ADDRESS sends a code by email instead, and asks for it. In a script, use two commands: --email ADDRESS, then
--email ADDRESS --code CODE.

--print-key prints the key instead of storing it. For CI, "keys create" makes one that permits less.`,
  options: {
    email: { type: 'string', value: 'ADDRESS', help: 'Sign in with a code sent to this address' },
    code: { type: 'string', value: 'CODE', help: 'The code that you received, instead of sending one' },
    'key-name': { type: 'string', value: 'NAME', help: 'Name of the key (default: user@host)' },
    'print-key': {
      type: 'boolean',
      help: 'Print the key and do not store it on this machine (with --key-name)',
    },
    json: JSON_OPTION,
    server: SIGN_IN_SERVER_OPTION,
  },
  async run(work, options) {
    const { settings, terminal } = work
    const printsKey = options['print-key'] === true
    if (printsKey && stringOption(options, 'key-name') === undefined)
      throw new UsageError('--print-key needs a name for the key', 'For example: --key-name ci')
    const server = signInServer(work, options)
    const verified = await signIn(work, server, {
      email: stringOption(options, 'email'),
      code: stringOption(options, 'code'),
      keyName: stringOption(options, 'key-name'),
      printsKey,
    })
    const { email, plan, keyName } = verified ?? {}
    const apiKey = printsKey ? verified?.apiKey : undefined
    const json = { server, signedIn: verified !== undefined, email, plan, keyName, apiKey }
    printResult(work, options, json, () => {
      if (apiKey !== undefined) terminal.print(apiKey)
      else if (verified) terminal.printNote('Sites you publish from here are saved to your account.')
    })
    if (verified && !printsKey && settings.key)
      terminal.printNote('SLIPWAY_KEY is set and takes precedence over this sign-in.')
  },
}
