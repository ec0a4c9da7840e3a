import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { nodeTransport } from '../../client/sdk/node-transport.ts'
import { Slipway } from '../../client/sdk/slipway.ts'
import { Program } from '../operator/program.ts'
import { History } from '../publishing/history.ts'
import { Publisher, throwUnlessSlipwayError } from '../publishing/publisher.ts'
import { Random } from '../support/random.ts'

// For power-cut: `node writer.ts [--workers N] [--import FILE] DIR ACKS` runs the real server with its data in DIR and
// publishes until the power cut. Appends every fact to ACKS in the order of the responses.

const PUBLISHERS = 6

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { workers: { type: 'string', default: '1' }, import: { type: 'string' } },
})
const [folder, acks] = positionals as [string, string]

const server = await Program.serve(
  { DATA: join(folder, 'data'), WORKERS: values.workers },
  { modules: values.import === undefined ? [] : [values.import] },
)
const { send } = nodeTransport()
const history = new History({ keep: (line) => appendFileSync(acks, line) })
const client = new Slipway({ baseUrl: server.baseUrl, send })
const random = new Random(process.pid)
const publishers = Array.from({ length: PUBLISHERS }, () => {
  const mailedCode = (email: string) => server.mailedCode(email)
  return new Publisher({
    client,
    history,
    random: random.fork(),
    mailedCode,
    onError: throwUnlessSlipwayError,
  })
})
await Promise.race([server.ended, ...publishers.map((publisher) => publisher.work(() => false))])
console.error(`the server ended unexpectedly:\n${server.output}`)
process.exit(1)
