import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { nodeTransport } from '../../client/sdk/node-transport.ts'
import { Slipway } from '../../client/sdk/slipway.ts'
import { Program } from '../operator/program.ts'
import { History } from '../publishing/history.ts'
import { SiteVisitor } from '../publishing/site-visitor.ts'
import { StateVerifier } from '../publishing/verifier.ts'
import { Random } from '../support/random.ts'
import { verifyDataFolder } from './data-folder.ts'

// For power-cut: `node verifier.ts DIR ACKS` starts the real server on DIR after a power cut and compares it with ACKS.
// Exits with 0 when all acknowledged data is complete; else prints the differences and exits with 1.

const [folder, acks] = process.argv.slice(2) as [string, string]
const data = join(folder, 'data')
const history = History.read(readFileSync(acks, 'utf8'))
const { sites, accounts, acknowledged, uploaded } = history
const summary = `${acknowledged} acknowledged facts about ${sites.size} sites, ${accounts.size} accounts and ${uploaded.length} uploaded versions`

const faults = [
  ...history.refusals.filter(({ status }) => status < 500).map(({ sentence }) => `refused: ${sentence}`),
]
try {
  faults.push(...(await faultsOfService()), ...(await verifyDataFolder(data, history)))
} catch (error) {
  faults.push(`the verification failed: ${(error as Error).stack}`)
}
for (const fault of faults.slice(0, 20)) console.log(fault)
console.log(faults.length === 0 ? summary : `${faults.length} faults in ${summary}`)
process.exit(faults.length === 0 ? 0 : 1)

async function faultsOfService(): Promise<string[]> {
  await using server = await Program.serve({ DATA: data })
  const transport = nodeTransport()
  const client = new Slipway({ baseUrl: server.baseUrl, send: transport.send })
  using visitor = new SiteVisitor(server.port)
  const verifier = new StateVerifier({ history, client, visitor })
  const faults = await verifier.verifyTouched(new Random(1))
  transport.close()
  if (faults.length > 0) faults.push(`server output:\n${server.output}`)
  const { code } = await server.stop()
  return code === 0 ? faults : [...faults, `the service stopped with ${code}`]
}
