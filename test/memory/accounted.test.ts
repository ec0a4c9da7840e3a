import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { ResponseSerializer } from '../../packages/http-server/http1/response-serializer.ts'
import { FrameSerializer } from '../../packages/http-server/http2/serialized-frames.ts'
import { MemoryBudget } from '../../packages/http-server/memory/second-chance-cache.ts'
import type { BlobReader } from '../../server/blobs/blob-reader.ts'
import type { BlobLocation, Blobs, ByteRange } from '../../server/blobs/blobs.ts'
import { readConfig } from '../../server/config/settings.ts'
import { BodyCache } from '../../server/edge/body/body-cache.ts'
import type { ChunkReader } from '../../server/edge/body/chunk-reader.ts'
import type { EdgeOptions } from '../../server/edge/edge-options.ts'
import type { Host } from '../../server/edge/resolve/host.ts'
import type { RouteTable } from '../../server/edge/resolve/route-table.ts'
import { SiteResolver } from '../../server/edge/resolve/site-resolver.ts'
import type { EdgeResponse } from '../../server/edge/response.ts'
import { LoadingCache } from '../../server/lib/loading-cache.ts'
import { InjectedDocuments } from '../../server/sites/page-metadata/injected-document.ts'
import { UrlBuilder } from '../../server/sites/urls.ts'
import type { Store } from '../../server/store/store.ts'
import { buildTable, getResponse, toBlobRecord, toLocation, toStoredFile } from '../edge/responses.ts'
import { siteRow, versionRow } from '../store/rows.ts'
import { makeBreaker, makeLookupLimits } from '../support/lookup-limits.ts'
import { parseRules } from '../support/parse-rules.ts'
import { measureHeapBytes, measureHeldBytes } from './heap-size.ts'

/** Maximum ratio of held bytes to accounted bytes. */
const MAX_FACTOR = 1.5

const MORE_MEASUREMENTS = 3

const names = (count: number) => Array.from({ length: count }, (_, index) => `:a${index}`).join('/')
const repeated = (count: number, line: (number: number) => string) =>
  Array.from({ length: count }, (_, index) => line(index)).join('\n')

const HEADERS: Record<string, string> = {
  'ordinary headers':
    '/*\n X-Frame-Options: DENY\n Referrer-Policy: no-referrer\n/a/*\n Cache-Control: public, max-age=31536000',
  'thousands of short headers': `/*\n${repeated(3000, () => 'a:b')}`,
  'header values of placeholders': `/:a/*\n${repeated(8, () => `x: ${':a,'.repeat(600)}`)}`,
  'one header removed again and again': `/*\n a: b\n${repeated(9000, () => '! a')}`,
  'headers for hosts': repeated(100, (number) => `https://:x.${'a.'.repeat(300)}b/:y/${number}\n a: b`),
}

const REDIRECTS: Record<string, string> = {
  'redirects with placeholders': repeated(100, (number) => `/${names(19)}/${number}/* /${names(19)}`),
  'ordinary redirects': '/old /new\n/blog/* /news/:splat 302\n/by/:author /people/:author',
  'fixed redirects': repeated(2000, (number) => `/${number} /b`),
  'redirects with parameters': repeated(300, (number) => `/a${number} ${'a=b '.repeat(400)} /b`),
  'redirects that take parameters': repeated(100, (number) => {
    return `/a${number} ${Array.from({ length: 80 }, (_, index) => `q${index}=:q${index}`).join(' ')} /b`
  }),
}

const FILES: Record<string, string[]> = {
  'an ordinary site': ['index.html', '404.html', 'about.html', 'assets/app.js', 'assets/app.css'],
  'a thousand long names': Array.from({ length: 1000 }, (_, number) => `${'a/'.repeat(240)}${number}.html`),
  'a thousand names with marks': Array.from(
    { length: 1000 },
    (_, number) => `${'e\u0301'.repeat(200)}${number}`,
  ),
  'a thousand 404 pages': Array.from({ length: 1000 }, (_, number) => `${number}/404.html`),
}

describe('the table of a site holds no more memory than it accounts for', () => {
  const sites: [title: string, paths: string[], texts: { headers?: string; redirects?: string }][] = [
    ...Object.entries(HEADERS).map(([title, headers]): (typeof sites)[0] => [
      title,
      ['index.html'],
      { headers },
    ]),
    ...Object.entries(REDIRECTS).map(([title, redirects]): (typeof sites)[0] => {
      return [title, ['index.html'], { redirects }]
    }),
    ...Object.entries(FILES).map(([title, paths]): (typeof sites)[0] => [title, paths, {}]),
  ]
  for (const [title, paths, { headers, redirects }] of sites) {
    test(title, () => {
      const { rules } = parseRules({ headers, redirects })
      // Parsed as by the store, so that no strings are shared.
      const json = JSON.stringify({ files: paths.map(toStoredFile), rules: rules ?? undefined })
      const make = () => buildTable([], JSON.parse(json))
      const count = paths.length > 100 || json.length > 20_000 ? 3 : 50
      assertTable(make, count)
    })
  }
})

const LONG_HEADERS = {
  ...HEADERS,
  'values of placeholders': `/:a\n${repeated(7, () => ` X-A: ${'a'.repeat(1900)}:a`)}`,
  'values that are appended': `/*\n${repeated(2500, () => 'a:b')}`,
  'thousands of cookies': `/*\n${repeated(800, () => 'set-cookie: b=c')}`,
}

describe('nor does it once every file was requested in every way', () => {
  for (const [title, headers] of Object.entries(LONG_HEADERS)) {
    test(title, () => {
      const files = Array.from({ length: 20 }, (_, number) => toStoredFile(`page-number-${number}.html`))
      const { rules } = parseRules({ headers, redirects: undefined })
      const json = JSON.stringify({ files, rules })
      const make = () => {
        const encodings = new Map(files.map(({ hash }) => [hash!, { br: 1, zstd: 1, gzip: 1 }]))
        const table = buildTable([], { ...JSON.parse(json), encodings })
        for (const { path } of files) requestInEveryWay(table, path)
        return table
      }
      assertTable(make, 2)
    })
  }
})

function requestInEveryWay(table: RouteTable, path: string): void {
  for (const target of [`/${path}`, `/${path.replace('.html', '')}`]) {
    getResponse(table, Buffer.from(`${target}?${'a'.repeat(8000)}`).toString('latin1'))
    for (const coding of ['br', 'zstd', 'gzip', 'identity'])
      for (const etag of ['*', '"another"'])
        getResponse(table, target, { 'accept-encoding': coding, 'if-none-match': etag })
  }
}

test('the generated root page of a site keeps nothing of what its table was built of', () => {
  const paths = ['a.bin', 'b.bin']
  const make = () => {
    const rows = Array.from({ length: 1000 }, (_, number) => `${number}`.padEnd(1000))
    return buildTable(paths, {
      blobs: new Map(
        rows.map((hash) => [
          Buffer.from(hash).toString(),
          { read: () => ({ hash, location: null, encodings: null, blockedUntil: 0 }) },
        ]),
      ),
    })
  }
  assertTable(make, 50)
})

const ENTRIES = 200

describe('a cache holds no more memory than it accounts for', () => {
  const answer = (number: number, body: number): EdgeResponse => ({
    status: 200,
    headers: ['Content-Type', 'text/html', 'Content-Length', `${body}`, 'ETag', `"${number}"`],
    body: Buffer.alloc(0),
  })
  const clock = () => 1_000_000
  const socket = { write: () => true, cork() {}, uncork() {}, writableLength: 0 } as unknown as Socket
  /** Sends or serializes each response twice: the second time it is cached. */
  const serializers: Record<string, (budget: MemoryBudget) => (one: EdgeResponse, body: Buffer) => unknown> =
    {
      'HTTP/1': (budget) => {
        const serializer = new ResponseSerializer({ clock, budget })
        return (one, body) => serializer.send(socket, one, { body, head: false, close: false })
      },
      'HTTP/2': (budget) => {
        const serializer = new FrameSerializer({ clock, budget })
        return (one, body) => serializer.serialize(one, body)
      },
    }
  for (const [protocol, open] of Object.entries(serializers)) {
    for (const size of [0, 16_000]) {
      test(`responses of ${protocol} with ${size} bytes`, () => {
        const budgets: MemoryBudget[] = []
        const make = () => {
          const budget = new MemoryBudget(2 ** 30)
          budgets.push(budget)
          const send = open(budget)
          const sent = Array.from({ length: ENTRIES }, (_, index) => {
            const [one, body] = [answer(index, size), Buffer.alloc(size)]
            for (let time = 0; time < 2; time++) send(one, body)
            return one
          })
          return [budget, send, sent]
        }
        const readAccounted = () => budgets[0]!.usedBytes
        const heap = measureAtMost(make, 3, readAccounted)
        assertAccounted(readAccounted(), heap)
      })
    }

    test(`a response of ${protocol} without the files of its site`, () => {
      const budget = new MemoryBudget(2 ** 30)
      const send = open(budget)
      const heap = measureHeapBytes(() => {
        const injected = { hash: 'a', size: 1, head: Buffer.alloc(250_000), publishedHash: 'b', tailStart: 0 }
        const content = { path: 'a', hash: 'a', size: 1, injected }
        const response: EdgeResponse = { status: 200, headers: ['Content-Length', '1'], content }
        for (let time = 0; time < 2; time++) send(response, Buffer.alloc(1))
      }, ENTRIES)
      assertAccounted(budget.usedBytes / (ENTRIES + 1), heap)
    })
  }

  for (const size of [1, 1000, 200_000]) {
    test(`files of ${size} bytes`, async () => {
      const budget = new MemoryBudget(2 ** 30)
      const blobs = { bytes: async () => Buffer.alloc(size) } as unknown as Blobs
      const bodies = new BodyCache({ blobs, budget })
      await assertGrowth(budget, async (round) => {
        for (let index = 0; index < ENTRIES; index++) {
          const hash = `${round * ENTRIES + index}`.padStart(64, '0')
          await bodies.open({ path: 'a', hash, size, location: toLocation(hash, size) })
        }
      })
    })
  }

  for (const headBytes of [100_000, 120_000]) {
    test(`chunks behind a head of ${headBytes} bytes`, async () => {
      const budget = new MemoryBudget(2 ** 30)
      const read = async (_: BlobLocation, range: ByteRange) => {
        const chunks: Buffer[] = []
        for (let { start } = range; start <= range.end; start += 131_072)
          chunks.push(Buffer.alloc(Math.min(131_072, range.end + 1 - start)))
        return Readable.from(chunks)
      }
      const bodies = new BodyCache({ blobs: { read } as unknown as Blobs, budget })
      const head = Buffer.alloc(headBytes)
      const download = async (number: number) => {
        const hash = `${number}`.padStart(64, '0')
        const size = 1_500_000
        const injected = { hash, size, head, publishedHash: 'a', tailStart: 100 }
        const pieces = (await bodies.open({
          path: 'a',
          hash,
          size,
          location: { ...toLocation('a', size), object: `${number}` },
          injected,
        })) as ChunkReader
        for (let part = await pieces.next(); part; part = await pieces.next());
        pieces.close()
      }
      await assertGrowth(budget, async (round) => {
        for (let number = 0; number < 40; number++) await download(20 * round + (number >> 1))
        // Streams are destroyed in a later turn of the event loop.
        await turn()
      })
    })
  }

  for (const [headBytes, entries] of [
    [100, ENTRIES],
    [100_000, 30],
  ] as const) {
    test(`injected documents with a head of ${headBytes} bytes`, async () => {
      const budget = new MemoryBudget(2 ** 30)
      const page = Buffer.from(`<head>${'<link>'.padEnd(headBytes - 40)}<title>Old</title></head>`)
      const blobs = { bytes: async () => Buffer.from(page) } as unknown as BlobReader
      const documents = new InjectedDocuments({ blobs, budget })
      const inject = (hash: string) => {
        const published = { ...toStoredFile('index.html'), hash, size: page.length }
        return documents.get({ published, tags: { title: 'New', description: null, image: null } })
      }
      // Warm-up: the parser and its compiled code do not count.
      for (let index = 0; index < entries; index++) await inject(`warm-up ${index}`)
      await assertGrowth(budget, async (round) => {
        for (let index = 0; index < entries; index++)
          await inject(`${round * entries + index}`.padStart(64, '0'))
      })
    })
  }

  test('cached rows of the store', async () => {
    const budget = new MemoryBudget(2 ** 30)
    const cache = new LoadingCache<{ slug: string }>({
      load: async (key) => ({ slug: key }),
      bytes: () => 100,
      isNegative: () => false,
      budget,
      breaker: makeBreaker(),
    })
    await assertGrowth(budget, async (round) => {
      for (let index = 0; index < 4_000; index++) await cache.get(`name-${round * 4_000 + index}.example`)
    })
  })
})

describe('a resolver holds no more memory than it accounts for', () => {
  const id = '0'.repeat(26)
  const hosts: Record<string, (number: number) => Promise<Host> | Host> = {
    sites: (number) => ({ kind: 'site', slug: `site-${number}`, slot: slot(`site-${number}`) }),
    versions: (number) => {
      const slug = `site-${number}`
      return { kind: 'version', slug, versionId: id, slot: slot(`${id}--${slug}`) }
    },
    domains: (number) => domain(`site-${number}.example.org`),
    'names that redirect to another': (number) => domain(`www.site-${number}.example.org`),
  }
  const slot = (key: string) => ({ key, entry: undefined })
  const domain = (name: string): Host => ({ kind: 'domain', domain: name, slot: slot(name) })

  for (const [title, host] of Object.entries(hosts)) {
    test(title, async () => {
      const budget = new MemoryBudget(2 ** 30)
      const options: Partial<EdgeOptions> = {
        config: readConfig({}),
        store: { read: sitesWithOnePage(id) } as unknown as Store,
        secret: 'a secret',
        clock: () => 1_000_000,
        budget,
        ...makeLookupLimits(),
        clientIp: () => '192.0.2.1',
        injectedDocuments: new InjectedDocuments({ blobs: {} as BlobReader, budget }),
        addresses: new UrlBuilder({ baseUrl: 'https://api.test', siteDomain: 'sites.test' }),
        https: { port: 443, coversSites: () => false },
      }
      const resolver = new SiteResolver({
        ...(options as EdgeOptions),
        reviewFrames: { tag: { html: Buffer.alloc(0) } },
      })
      const client = { socket: {}, headers: {} }
      const resolveAll = async (from: number, to: number) => {
        for (let number = from; number < to; number++) {
          const { kind } = await resolver.resolve(await host(number), true, client)
          assert.ok(kind === 'site' || kind === 'redirect')
        }
      }
      await resolveAll(0, 100)
      await assertGrowth(budget, (round) => resolveAll(100 + 800 * round, 900 + 800 * round))
    })
  }
})

/** A fake store in which every site has a version, and a domain with a certificate and its `www`. */
function sitesWithOnePage(id: string): unknown {
  const parse = (row: object) => JSON.parse(JSON.stringify(row))
  const files = ['index.html', 'app.js', 'app.css'].map(toStoredFile)
  const find = (slug: string) => {
    const version = versionRow(id, slug, { files })
    const records = files.map((file) => toBlobRecord(file))
    const blobs = new Map(records.map((record) => [record.hash, { read: () => record }]))
    return {
      ...parse({ site: siteRow(slug, { liveVersionId: id }), live: version, requested: version }),
      blobs,
    }
  }
  return {
    serving: {
      findSite: async (slug: string) => find(slug),
      findDomain: async (domain: string) => {
        const name = domain.replace(/^www\./, '')
        return { ...find(name.split('.')[0]!), name, certificateNotAfter: 2_000_000 }
      },
    },
  }
}

/** Fills a cache, each round with other entries, and measures again as `measureAtMost` does. */
async function assertGrowth(budget: MemoryBudget, fill: (round: number) => Promise<void>): Promise<void> {
  for (let round = 0; ; round++) {
    const [held, accounted] = [measureHeldBytes(), budget.usedBytes]
    await fill(round)
    const growth = [budget.usedBytes - accounted, measureHeldBytes() - held] as const
    if (growth[1] > MAX_FACTOR * growth[0] && round < MORE_MEASUREMENTS) continue
    return assertAccounted(...growth)
  }
}

function assertTable(make: () => RouteTable, count: number): void {
  const accounted = make().bytes
  assertAccounted(
    accounted,
    measureAtMost(make, count, () => accounted),
  )
}

/** What V8 compiles during a measurement counts in it, so that a larger result than the accounted bytes allow is measured again. */
function measureAtMost(
  make: (number: number) => unknown,
  count: number,
  readAccounted: () => number,
): number {
  let held = measureHeapBytes(make, count)
  for (let more = 0; held > MAX_FACTOR * readAccounted() && more < MORE_MEASUREMENTS; more++)
    held = measureHeapBytes(make, count)
  return held
}

function assertAccounted(accounted: number, heap: number): void {
  const factor = heap / accounted
  const figures = `${Math.round(heap)} bytes held, ${accounted} accounted for`
  assert.ok(factor <= MAX_FACTOR, `${figures}: ${factor.toFixed(2)} times as much`)
}
