import { join } from 'node:path'
import { Slipway } from '../client/sdk/slipway.ts'
import { GITHUB_CLAIMS } from '../test/api/trusted-job.ts'
import { Agent } from '../test/mcp/agent.ts'
import { OidcIssuer } from '../test/tools/oidc-issuer.ts'
import { type Figure, figure, type Measurement } from './figures.ts'
import { scratchFolder, startServer } from './server-process.ts'
import { signIn } from './watch.ts'

const ROUNDS = 100

/** Each of them has about 60 bytes. */
const FILES = Array.from({ length: 10 }, (_, number) => ({
  path: number === 0 ? 'index.html' : `page-${number}.html`,
  content: `<!doctype html><title>Page ${number}</title><h1>Page ${number}</h1>`,
}))

/** What a job of a forge waits for, and what a chat spends. */
export const programs: Measurement = {
  name: 'programs',
  means: 'a CI job exchanges its token for a key, and a program publishes ten files with the tools of /mcp',
  async run({ quick }) {
    await using scratch = await scratchFolder()
    await using issuer = await OidcIssuer.start()
    const data = join(scratch.path, 'data')
    const limits = { RATE_FREE: '1000000', RATE_SIGN_IN: '1000000', RATE_ANONYMOUS: '1000000' }
    const settings = { ...limits, OIDC_ISSUERS: `github=${issuer.url}` }
    await using server = await startServer(data, { settings })
    const rounds = quick ? 5 : ROUNDS
    return [
      await measureExchange(server.baseUrl, { key: await signIn(server.baseUrl, data), issuer, rounds }),
      ...(await measurePublish(server.baseUrl, rounds)),
    ]
  },
}

async function measureExchange(
  baseUrl: string,
  { key, issuer, rounds }: { key: string; issuer: OidcIssuer; rounds: number },
): Promise<Figure> {
  const client = new Slipway({ baseUrl, key })
  const { slug: site } = await client.publishContents({ files: FILES })
  await client.createTrust({ forge: 'github', repository: 'ann/bakery', site, branch: 'main' })
  const times: number[] = []
  for (let round = 0; round <= rounds; round++) {
    const issuedAt = Math.floor(Date.now() / 1000)
    const token = await issuer.sign(GITHUB_CLAIMS, { issuedAt, audience: baseUrl })
    const started = performance.now()
    await client.exchangeIdToken({ token, site })
    // The first one loads the key set of the issuer.
    if (round > 0) times.push(performance.now() - started)
  }
  return figure('from the token of a job to its key', 'ms', times, 20)
}

async function measurePublish(baseUrl: string, rounds: number): Promise<Figure[]> {
  await using agent = await Agent.connect(baseUrl)
  const [times, sizes]: [number[], number[]] = [[], []]
  for (let round = 0; round <= rounds; round++) {
    const started = performance.now()
    const result = await agent.send('publish_site', { files: FILES })
    if (result.isError) throw new Error(JSON.stringify(result.content))
    if (round === 0) continue
    times.push(performance.now() - started)
    sizes.push(JSON.stringify(result).length)
  }
  const { tools } = await agent.client.listTools()
  return [
    figure('ten files in one call, until they are live', 'ms', times),
    // A token has at least one byte.
    figure('the result of the call', 'bytes', sizes, 2000),
    figure('the definitions of the tools', 'bytes', [JSON.stringify(tools).length]),
  ]
}
