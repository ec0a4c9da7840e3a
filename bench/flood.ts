import { randomBytes } from 'node:crypto'
import { globSync, statSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { Slipway } from '../client/sdk/slipway.ts'
import { newestCode } from '../test/support/service.ts'
import { type Figure, figure, type Measurement } from './figures.ts'
import { scratchFolder, startServer } from './server-process.ts'

const CALLERS = 1000
const PUBLISHES_PER_CALLER = 5
const BYTES = 500_000
const CONCURRENT = 16

/** A hundredth of the default limits, so that the flood takes a minute. */
const LIMITS = { ANONYMOUS_NETWORK_BYTES: '20MB', ANONYMOUS_TOTAL_BYTES: '200MB' }

/** The disk that anonymous publishes take, and an owner who publishes at the same time. */
export const flood: Measurement = {
  name: 'flood',
  means:
    '1,000 addresses publish 5 sites of 500 kB each without an account, at a limit of 20 MB for a network and of 200 MB for all',
  async run({ quick }) {
    const callers = quick ? 100 : CALLERS
    const sameNetwork = (number: number) => `2001:db8:7:${number.toString(16)}::1`
    const networks = (number: number) => `10.${number >> 8}.${number & 255}.1`
    return [
      ...(await measure('one network', callers, sameNetwork)),
      ...(await measure('1,000 networks', callers, networks)),
    ]
  },
}

async function measure(
  from: string,
  callers: number,
  address: (number: number) => string,
): Promise<Figure[]> {
  await using scratch = await scratchFolder()
  const data = join(scratch.path, 'data')
  const settings = { ...LIMITS, RATE_ANONYMOUS: '5', RATE_FREE: '1000000', TRUSTED_PROXIES: '1' }
  await using server = await startServer(data, { settings })
  const { baseUrl } = server
  const anonymous = new Slipway({ baseUrl })
  await anonymous.requestCode('owner@example.com')
  const { apiKey: key } = await anonymous.verifyCode(
    'owner@example.com',
    await newestCode(join(data, 'mail'), 'owner@example.com'),
  )
  const owner = new Slipway({ baseUrl, key })
  const statuses = new Map<number, number>()
  let isFlooding = true
  const publishing = publishAsOwner(owner, () => isFlooding)
  let next = 0
  const attack = async () => {
    while (next < callers * PUBLISHES_PER_CALLER) {
      const status = await publishFrom(baseUrl, address(next++ % callers))
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENT }, attack))
  isFlooding = false
  const owned = await publishing
  const [limit, used] = [from === 'one network' ? 20 : 200, diskBytes(join(data, 'blobs')) / 1e6]
  const count = (status: number) => statuses.get(status) ?? 0
  return [
    figure(`${from}: sent`, 'MB', [(callers * PUBLISHES_PER_CALLER * BYTES) / 1e6]),
    // The owner's files, and what is stored of refused publishes until the next sweep.
    figure(`${from}: on the disk, with what the owner published`, 'MB', [used], limit * 1.1 + 10),
    figure(`${from}: accepted`, 'requests', [count(201)]),
    figure(`${from}: refused by the quota`, 'requests', [count(413)]),
    figure(`${from}: refused for another reason`, 'requests', [
      [...statuses].reduce(
        (sum, [status, found]) => (status === 201 || status === 413 ? sum : sum + found),
        0,
      ),
    ]),
    figure(`${from}: publishes of an owner at the same time`, 'requests', [owned.length]),
    figure(`${from}: slowest of them`, 'ms', [Math.max(...owned)], 2000),
  ]
}

/** The times of publishes of an account, one after another; fails with the first that is refused. */
async function publishAsOwner(owner: Slipway, isFlooding: () => boolean): Promise<number[]> {
  const times: number[] = []
  while (isFlooding()) {
    const started = performance.now()
    await owner.publishContents({ files: [{ path: 'index.html', content: `publish ${times.length}` }] })
    times.push(performance.now() - started)
  }
  return times
}

/** Publishes a page of random bytes, which nothing compresses, through the proxy that the service trusts. */
function publishFrom(baseUrl: string, address: string): Promise<number> {
  const body = randomBytes(BYTES / 2).toString('hex')
  return new Promise((resolve, reject) => {
    const request = http.request(`${baseUrl}/api/v1/publish`, {
      method: 'POST',
      headers: {
        'content-type': 'text/html',
        'content-length': body.length,
        'x-forwarded-for': address,
      },
    })
    request.on('error', reject)
    request.on('response', (response) => {
      response.resume().on('end', () => resolve(response.statusCode!))
    })
    request.end(body)
  })
}

function diskBytes(folder: string): number {
  return globSync('**/*', { cwd: folder })
    .map((path) => statSync(join(folder, path), { throwIfNoEntry: false }))
    .reduce((sum, found) => (found?.isFile() ? sum + found.size : sum), 0)
}
