import { createInterface } from 'node:readline'
import { signInServer } from './account.ts'
import { type Command, SIGN_IN_SERVER_OPTION } from './command.ts'
import { MessageProxy } from './mcp/message-proxy.ts'

/** `slipway mcp` */
export const mcp: Command = {
  name: 'mcp',
  operands: '',
  maxOperands: 0,
  summary: 'Give an agent on this machine tools to publish',
  about: `
Speaks the Model Context Protocol on stdin and stdout, for clients that start programs: it has the tools of the server,
with your account after slipway login, and publish_folder, which publishes a folder of this machine. In the settings of
the client, enter the command and its arguments, such as: slipway mcp --server https://slipway.example`,
  options: { server: SIGN_IN_SERVER_OPTION },
  async run(work, options) {
    const { streams, signal } = work
    const proxy = new MessageProxy(work, signInServer(work, options), options)
    const lines = createInterface({ input: streams.stdin, terminal: false })
    signal.addEventListener('abort', () => lines.close())
    const pending = new Set<Promise<void>>()
    for await (const line of lines) {
      if (line.trim() === '') continue
      const handled = proxy.handle(line).then((answer) => {
        if (answer) streams.stdout.write(`${JSON.stringify(answer)}\n`)
        pending.delete(handled)
      })
      pending.add(handled)
    }
    await Promise.all(pending)
  },
}
