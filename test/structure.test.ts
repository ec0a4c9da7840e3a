import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'

// Keeps the house as docs and CONTRIBUTING.md describe it: who may import whom, and what a file may be.

const root = join(import.meta.dirname, '..')

/** The files that speak to a database, a disk, a mail server: a contract in each room says what they promise. */
const ENGINES = [
  'server/store/sqlite',
  'server/store/postgres',
  'server/blobs/disk',
  'server/blobs/s3',
  'server/mail/folder',
  'server/mail/smtp',
  'server/dns/resolver',
  'server/tls/acme/client',
]
const DOORS = ['server/api/', 'server/edge/']
const SWEEPS = 'server/sweeps/'
/** Files of server/ itself that are no nouns: the start, the composition and what everyone may use. */
const NO_NOUNS = ['main', 'service', 'https', 'to-https', 'workers', 'config', 'log'].map(
  (name) => `server/${name}.ts`,
)

interface Arrow {
  from: string
  to: string
}

interface Rule {
  sentence: string
  breaks(arrow: Arrow): boolean
}

const RULES: Rule[] = [
  {
    sentence: 'only server/service.ts picks engines',
    breaks: ({ from, to }) => isEngine(to) && !isEngine(from) && from !== 'server/service.ts',
  },
  {
    sentence: 'only the start knows the composition',
    breaks: ({ from, to }) =>
      (to === 'server/service.ts' || to === 'server/main.ts') &&
      from.startsWith('server/') &&
      !['server/main.ts', 'server/workers.ts', 'server/bin/slipway-server.js'].includes(from),
  },
  {
    sentence: 'a noun imports no door and no sweep',
    breaks: ({ from, to }) => isNoun(from) && isAbove(to),
  },
  {
    sentence: 'a room imports no door and no sweep',
    breaks: ({ from, to }) => isRoom(from) && isAbove(to),
  },
  {
    sentence: 'client/ and dashboard/ import nothing from server/',
    breaks: ({ from, to }) => /^(client|dashboard)\//.test(from) && /^(server\/|slipway-server)/.test(to),
  },
]

test('imports follow the arrows of the design', () => {
  assert.deepEqual(
    sources().flatMap(({ path, text }) => brokenArrows(path, text)),
    [],
  )
})

test('an import against an arrow is named', () => {
  const broken = [
    ['server/site.ts', './store/sqlite.ts', 'only server/service.ts picks engines'],
    ['server/sweeps/expiry.ts', '../blobs/disk.ts', 'only server/service.ts picks engines'],
    ['server/api/sites.ts', '../service.ts', 'only the start knows the composition'],
    ['server/site.ts', './edge/edge.ts', 'a noun imports no door and no sweep'],
    ['server/store/store.ts', '../api/routes.ts', 'a room imports no door and no sweep'],
    ['client/sdk/slipway.ts', '../../server/site.ts', 'client/ and dashboard/ import nothing from server/'],
    ['dashboard/main.ts', '../server/site.ts', 'client/ and dashboard/ import nothing from server/'],
  ] as const
  for (const [path, specifier, sentence] of broken) {
    for (const text of [
      `import { it } from '${specifier}'`,
      `import '${specifier}'`,
      `await import("${specifier}")`,
    ]) {
      assert.deepEqual(brokenArrows(path, text), [`${path} imports ${joined(path, specifier)}: ${sentence}`])
    }
  }
})

test('only config.ts reads the environment of the server', () => {
  const readers = sources()
    .filter(
      ({ path, text }) =>
        path.startsWith('server/') && !isTest(path) && /\bprocess\.env\b|node:process/.test(text),
    )
    .filter(
      ({ path, text }) =>
        path !== 'server/main.ts' || text.replace('readConfig(process.env)', '').includes('process.env'),
    )
  assert.deepEqual(
    readers.map(({ path }) => path).filter((path) => path !== 'server/config.ts'),
    [],
  )
})

test('files are named after what they hold', () => {
  const shapeless = /(^|[/-])(utils?|helpers?|common|core|managers?|index)(-[^/]*)?\.\w+$/
  const named = sources().map(({ path }) => path)
  assert.deepEqual(
    named.filter((path) => shapeless.test(path)),
    [],
  )
})

test('files stay under 400 lines', () => {
  const long = sources().filter(({ text }) => text.trimEnd().split('\n').length >= 400)
  assert.deepEqual(
    long.map(({ path }) => path),
    [],
  )
})

test('package-lock.json names no registry', () => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { resolved?: string }>
  }
  const resolved = Object.values(packages).map((entry) => entry.resolved ?? '')
  assert.deepEqual(
    resolved.filter((address) => address.includes(':')),
    [],
  )
})

test('README begins with the two commands', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const fenced = [...readme.matchAll(/^```\w*\n(.*?)^```/gms)].map(([, content]) => content!.trim())
  assert.deepEqual(fenced.slice(0, 2), ['npm start', 'npm test'])
})

function sources(): { path: string; text: string }[] {
  return globSync('{bench,client,dashboard,scripts,server,test}/**/*.{ts,tsx,js,mjs}', {
    cwd: root,
    exclude: ['**/node_modules/**', '**/dist/**'],
  }).map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

function brokenArrows(path: string, text: string): string[] {
  if (isTest(path)) return []
  const imports = text.matchAll(/\b(?:from|import)\s*\(?\s*['"]([^'"\n]+)['"]/g)
  return [...imports]
    .map(([, specifier]) => ({ from: path, to: joined(path, specifier!) }))
    .flatMap((arrow) => {
      const rule = RULES.find((candidate) => candidate.breaks(arrow))
      return rule ? [`${arrow.from} imports ${arrow.to}: ${rule.sentence}`] : []
    })
}

function joined(path: string, specifier: string): string {
  return specifier.startsWith('.') ? normalize(join(dirname(path), specifier)) : specifier
}

function isTest(path: string): boolean {
  return path.endsWith('.test.ts') || path.startsWith('test/')
}

function isEngine(path: string): boolean {
  return ENGINES.some((engine) => path === `${engine}.ts` || path.startsWith(`${engine}/`))
}

function isNoun(path: string): boolean {
  return /^server\/[^/]+\.ts$/.test(path) && !NO_NOUNS.includes(path)
}

function isRoom(path: string): boolean {
  return /^server\/[^/]+\//.test(path) && !isAbove(path) && !path.startsWith('server/bin/')
}

function isAbove(path: string): boolean {
  return path.startsWith(SWEEPS) || DOORS.some((door) => path.startsWith(door))
}
