import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { nodeTransport } from '../../client/sdk/node-transport.ts'
import { Slipway } from '../../client/sdk/slipway.ts'
import { Random } from '../support/random.ts'
import { AckLog } from './ledger.ts'
import { findOrphans } from './remains.ts'
import { ServerProcess } from './server-process.ts'
import { StateVerifier } from './truth.ts'
import { SiteVisitor } from './visitor.ts'

// For power-cut: `node verifier.ts DIR ACKS` starts the real service on what the power cut left in DIR and compares
// it with ACKS. Exits with 0 when all that was acknowledged is there and whole, else says what is not and exits with 1.

const [folder, acks] = process.argv.slice(2) as [string, string]
const data = join(folder, 'data')
const ledger = AckLog.read(readFileSync(acks, 'utf8'))
const { sites, accounts, acknowledged, waiting } = ledger
const told = `${acknowledged} acknowledged facts about ${sites.size} sites, ${accounts.size} accounts and ${waiting.length} waiting versions`

const faults = [
  ...ledger.surprises.filter(({ status }) => status < 500).map(({ sentence }) => `refused: ${sentence}`),
]
try {
  faults.push(...(await faultsOfService()), ...(await findOrphans(data, ledger)))
} catch (error) {
  faults.push(`it could not be verified: ${(error as Error).stack}`)
}
for (const fault of faults.slice(0, 20)) console.log(fault)
console.log(faults.length === 0 ? told : `${faults.length} faults in ${told}`)
process.exit(faults.length === 0 ? 0 : 1)

async function faultsOfService(): Promise<string[]> {
  await using server = await ServerProcess.start({ data })
  const transport = nodeTransport()
  const client = new Slipway({ baseUrl: server.baseUrl, send: transport.send })
  using visitor = new SiteVisitor(server.port)
  const truth = new StateVerifier({ ledger, client, visitor })
  const found = await truth.aboutTouched(new Random(1))
  transport.close()
  if (found.length > 0) found.push(`the service said:\n${server.output.slice(-20).join('\n')}`)
  const code = await server.stop()
  return code === 0 ? found : [...found, `the service stopped with ${code}`]
}
