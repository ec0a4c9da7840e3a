import { PassThrough } from 'node:stream'
import { signInServer } from './account.ts'
import { type Command, SIGN_IN_SERVER_OPTION } from './command.ts'
import { MessageProxy } from './mcp/message-proxy.ts'

/** `slipway mcp` */
export const mcp: Command = {
  name: 'mcp',
  operands: '',
  summary: 'Give an agent on this machine tools to publish',
  about: `
Speaks the Model Context Protocol on stdin and stdout, for clients that start programs: it has the tools of the server,
with your account after slipway login, and publish_folder, which publishes a folder of this machine. In the settings of
the client, enter the command and its arguments, such as: slipway mcp --server https://slipway.example`,
  options: { server: SIGN_IN_SERVER_OPTION },
  async run(work, options) {
    const { streams, signal } = work
    const proxy = new MessageProxy(work, signInServer(work, options), options)
    const input = streams.stdin.pipe(new PassThrough({ encoding: 'utf8' }))
    signal.addEventListener('abort', () => {
      streams.stdin.unpipe(input)
      input.end()
    })
    const pending = new Set<Promise<void>>()
    for await (const line of readLines(input)) {
      if (line.trim() === '' || signal.aborted) continue
      const handled = proxy.handle(line).then((answer) => {
        if (answer) streams.stdout.write(`${JSON.stringify(answer)}\n`)
        pending.delete(handled)
      })
      pending.add(handled)
    }
    await Promise.all(pending)
  },
}

/** Ends lines at LF only: node:readline also ends them at U+2028 and U+2029, which JSON may contain. */
async function* readLines(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let line = ''
  for await (const chunk of chunks) {
    const [end, ...others] = chunk.split('\n')
    line += end
    for (const next of others) {
      yield line
      line = next
    }
  }
  yield line
}
