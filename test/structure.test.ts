import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { parseSync, Visitor } from 'vite'
import { newSlug } from '../server/sites/slug.ts'
import { TABLES } from '../server/store/schema.ts'
import { pluck } from './support/pluck.ts'

// Enforces the rules of docs/architecture.md: which files may import which, and how large a unit may be.

const root = join(import.meta.dirname, '..')

/** Engines behind a contract: only the composition selects them. */
const ENGINES = [
  'server/store/postgres/postgres.ts',
  'server/store/postgres/tables.ts',
  'server/store/sqlite.ts',
  'server/blobs/disk.ts',
  'server/blobs/s3/s3.ts',
  'server/mail/folder.ts',
  'server/mail/smtp.ts',
  'server/domains/dns/resolver.ts',
  'packages/acme-client/client.ts',
]

/** Builds and connects all parts, opens what they store data in, and copies that. */
const COMPOSITION = [
  'server/app.ts',
  'server/services.ts',
  'server/backends.ts',
  'server/operations/copies.ts',
]

/** What the edge uses of the HTTP server: the interface of its handler, and what is about clients and memory. */
const OF_HANDLERS = /^packages\/http-server\/((clients|memory)\/|http-handler\.ts|host-name\.ts)/

interface Import {
  from: string
  to: string
  isType: boolean
}

const RULES: { sentence: string; isBroken(one: Import): boolean }[] = [
  {
    sentence: 'only the composition selects engines',
    isBroken: ({ from, to }) => ENGINES.includes(to) && ![...COMPOSITION, ...ENGINES].includes(from),
  },
  {
    sentence: 'only commands import the composition, of whose services the API takes the type',
    isBroken: ({ from, to, isType }) =>
      COMPOSITION.includes(to) &&
      !(isType && to === 'server/services.ts' && from.startsWith('server/api/')) &&
      from.startsWith('server/') &&
      !COMPOSITION.includes(from) &&
      !from.startsWith('server/commands/'),
  },
  {
    sentence: 'edge/ knows no protocol',
    isBroken: ({ from, to }) =>
      from.startsWith('server/edge/') && to.startsWith('packages/http-server/') && !OF_HANDLERS.test(to),
  },
  {
    sentence: 'only its thread runs the scan for secrets',
    isBroken: ({ from, to }) =>
      to === 'server/publish/secrets/secret-rules.ts' && from !== 'server/publish/secrets/secret-worker.ts',
  },
  {
    sentence: 'client/ and dashboard/ import nothing from server/',
    isBroken: ({ from, to }) => /^(client|dashboard)\//.test(from) && /^(server\/|slipway-server)/.test(to),
  },
  {
    sentence: 'packages/ import nothing but themselves, Node and what their README names',
    isBroken: ({ from, to }) => {
      const [folder] = /^packages\/[^/]+\//.exec(from) ?? []
      if (folder === undefined || to.startsWith(folder) || to.startsWith('node:')) return false
      const isInstalled = !/^(\w+\/|\.)/.test(to)
      return !isInstalled || !readFileSync(join(root, folder, 'README.md'), 'utf8').includes(`\`${to}\``)
    },
  },
  {
    sentence: 'protocol/ imports nothing but itself',
    isBroken: ({ from, to }) => from.startsWith('protocol/') && !to.startsWith('protocol/'),
  },
]

const MAX_FUNCTION_LINES = 60
const MAX_CLASS_MEMBERS = 25
const MAX_FILE_LINES = 600

/** Units beyond these limits, each with its reason. */
const EXCEPTIONS: Record<string, string> = {
  'client/sdk/slipway.ts': 'the facade of the SDK',
  'protocol/manifest/media-type-table.ts': 'a table, written by scripts/media-types.ts',
  'client/sdk/slipway.ts Slipway': 'the facade of the SDK: one method for each call of the API',
  'dashboard/sign-in/code-step.tsx CodeStep': 'one form with its markup',
  'dashboard/kit/frame-guard.tsx watchFocus': 'listeners with the state that they share',
  'server/services.ts createServices': 'the composition: constructor calls in dependency order',
  'server/app.ts startService':
    'the composition: the order of these lines is the order of disposal, reversed',
  'server/blobs/disk.ts diskBlobs': 'one closure over the folder; each operation in it is short',
  'server/edge/edge.ts Edge': 'the facade of the edge: one method for each kind of request',
  'server/lib/loading-cache.ts LoadingCache':
    'the states of an entry: its loads, owners and invalidations, which read the same fields',
  'packages/http-server/http1/connection.ts FastPathConnection':
    'the state machine of an HTTP/1.1 connection',
  'packages/http-server/http2/frames.ts FrameHandler':
    'the state machine of RFC 9113: one method for each frame type',
  'packages/http-server/http2/session.ts Http2Session': 'the state machine of an HTTP/2 connection',
  'packages/http-server/http2/stream.ts Stream': 'the state of an HTTP/2 stream',
  'packages/http-server/http2/streams.ts Streams': 'the stream states of RFC 9113, section 5',
  'server/store/migrations/001-baseline.ts': 'the schema: one statement for each table and index',
  'server/store/queries/versions.ts VersionQueries':
    'one short method for each query of versions and their received files',
  'server/store/sqlite.ts sqliteStore': 'one closure over the two connections; each operation in it is short',
  'server/commands/workers.ts supervise': 'one closure over the worker table',
}

/** Folders of which each file is a row of a table. */
const ROW_FOLDERS =
  /^server\/(api|commands|store\/(migrations|queries|tables)|operations\/check|edge\/respond\/pages\/languages)\//

/** A component of the dashboard may have its markup in a file of its own. */
const MIN_FILE_LINES = { dashboard: 25, other: 60 }

/** Short files with one importer that are concepts of their own. */
const SHORT_FILES: Record<string, string> = {
  'server/certificates/acme-account.ts': 'an engine of the ACME client',
  'server/edge/anonymous-notice.ts': 'a page with its form',
  'server/edge/body/preload.ts': 'an action of the edge',
  'server/edge/request-metrics.ts': 'the numbers of the edge',
  'server/edge/respond/pages/markdown-page.ts': 'a page',
  'server/mail/folder.ts': 'an engine',
  'dashboard/admin/views.ts': 'the table of tabs',
  'dashboard/claim/claim-page.tsx': 'a page, loaded when it is opened',
  'dashboard/home/agent-instructions.tsx': 'a tab, loaded when it is opened',
  'dashboard/home/terminal-instructions.tsx': 'a tab, loaded when it is opened',
  'dashboard/sign-in/redirect-target.ts': 'a rule of security, tested apart from the page',
  'packages/acme-client/inspect.ts': 'a check of settings, which registers nothing',
  'packages/http-server/http1/fast-path.ts': 'an engine',
  'server/certificates/https-redirect.ts': 'a redirect that the composition selects',
  'server/operations/internal/routes.ts': 'endpoints that the composition selects',
  'packages/s3-client/multipart.ts': 'one of two ways to store a stream',
  'server/sites/version-archive.ts': 'the formats of a download',
  'server/store/postgres/tables.ts': 'PostgreSQL only',
}

test('a short file of the server, a package or the dashboard that only one other imports is a concept of its own', () => {
  const importers = new Map<string, Set<string>>()
  const files = productSources().filter(({ path }) => /^(dashboard|packages|server)\/.*\.tsx?$/.test(path))
  for (const { path, text } of files)
    for (const { to } of importsOf(path, text)) importers.set(to, (importers.get(to) ?? new Set()).add(path))
  const short = files
    .filter(({ path, text }) => {
      const limit = path.startsWith('dashboard/') ? MIN_FILE_LINES.dashboard : MIN_FILE_LINES.other
      return importers.get(path)?.size === 1 && text.split('\n').length <= limit
    })
    .map(({ path }) => path)
    .filter((path) => !ROW_FOLDERS.test(path))
  assert.deepEqual(short.sort(), Object.keys(SHORT_FILES).sort())
})

test('imports follow the rules of docs/architecture.md', () => {
  const brokenPaths = productSources().flatMap(({ path, text }) => brokenImports(path, text))
  assert.deepEqual(brokenPaths, [])
})

test('an import that breaks a rule is reported', () => {
  const broken = [
    ['server/sites/site.ts', '../store/sqlite.ts', 'only the composition selects engines'],
    [
      'server/api/sites.ts',
      '../app.ts',
      'only commands import the composition, of whose services the API takes the type',
    ],
    ['server/edge/edge.ts', '../../packages/http-server/request-target.ts', 'edge/ knows no protocol'],
    [
      'packages/http-server/listener.ts',
      '../acme-client/acme.ts',
      'packages/ import nothing but themselves, Node and what their README names',
    ],
    [
      'packages/acme-client/acme.ts',
      '@smithy/signature-v4',
      'packages/ import nothing but themselves, Node and what their README names',
    ],
    [
      'server/publish/secrets/secret-scan.ts',
      './secret-rules.ts',
      'only its thread runs the scan for secrets',
    ],
    ['dashboard/main.ts', '../server/sites/site.ts', 'client/ and dashboard/ import nothing from server/'],
    ['protocol/format.ts', 'node:util', 'protocol/ imports nothing but itself'],
    [
      'packages/acme-client/acme.ts',
      '../../server/app.ts',
      'packages/ import nothing but themselves, Node and what their README names',
    ],
  ] as const
  for (const [path, specifier, sentence] of broken) {
    for (const text of [
      `import { it } from '${specifier}'`,
      `import type { it } from '${specifier}'`,
      `import '${specifier}'`,
      `await import("${specifier}")`,
    ]) {
      assert.deepEqual(brokenImports(path, text), [
        `${path} imports ${resolveSpecifier(path, specifier)}: ${sentence}`,
      ])
    }
  }
})

test('no two sibling folders of the server and of a package import each other, at any depth', () => {
  const imports = productSources().flatMap(({ path, text }) => importsOf(path, text))
  const edges = new Set(imports.map(siblingFolders).filter((edge) => edge !== undefined))
  const twoWay = [...edges].filter((edge) => {
    const [from, to] = edge.split(' ') as [string, string]
    return from < to && edges.has(`${to} ${from}`)
  })
  assert.deepEqual(twoWay, [])
})

test('no import cycles, types included', () => {
  const graph = new Map(
    productSources().map(({ path, text }) => [path, importsOf(path, text).map(({ to }) => to)]),
  )
  assert.deepEqual(cyclesIn(graph), [])
})

test('long functions, large classes and long files have a reason', () => {
  const found = productSources()
    .filter(({ path }) => /\.tsx?$/.test(path))
    .flatMap(({ path, text }) => oversizedUnits(path, text))
  assert.deepEqual(found.toSorted(), Object.keys(EXCEPTIONS).toSorted())
})

test('the server has at most 430 files, 57,000 lines, and comments in 8 of 100', () => {
  const files = productSources().filter(({ path }) => /^server\/.*\.ts$/.test(path))
  const countLines = (text: string) => text.split('\n').length
  let [lines, comments] = [0, 0]
  for (const { path, text } of files) {
    lines += countLines(text) - 1
    for (const { value } of parseSync(path, text).comments) comments += countLines(value)
  }
  assert.ok(files.length <= 430, `${files.length} files`)
  assert.ok(lines <= 57_000, `${lines} lines`)
  assert.ok(comments <= 0.08 * lines, `${comments} lines of comments`)
})

test('ls server shows at most 25 entries', () => {
  const entries = new Set(
    productSources()
      .filter(({ path }) => path.startsWith('server/'))
      .map(({ path }) => path.split('/')[1]),
  )
  assert.ok(entries.size <= 25, [...entries].join(' '))
})

test('the files that docs/architecture.md names exist', () => {
  const text = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
  const paths = [
    ...text.matchAll(/`((?:server|client|dashboard|packages|protocol|test)\/[\w./-]+\.\w+)`/g),
  ].map(([, path]) => path!)
  assert.ok(paths.length > 20)
  const absent = paths.filter((path) => !existsSync(join(root, path)))
  assert.deepEqual(absent, [])
})

test('no suite is asynchronous: the runner would lose the tests after its first await', () => {
  const found: string[] = []
  for (const path of globSync('{test,scripts}/**/*.test.ts', { cwd: root }))
    new Visitor({
      CallExpression: ({ callee, arguments: args }) => {
        const isSuite = callee.type === 'Identifier' && callee.name === 'describe'
        if (isSuite && args.some((argument) => 'async' in argument && argument.async)) found.push(path)
      },
    }).visit(parseSync(path, readFileSync(join(root, path), 'utf8')).program)
  assert.deepEqual(found, [])
})

test('each test file has a duration in scripts/test-durations.json, by which the runner forms groups', () => {
  const files = globSync('{client,dashboard,protocol,server,test,bench,scripts}/**/*.test.ts', {
    cwd: root,
    exclude: ['**/node_modules/**', '**/dist/**'],
  }).filter((file) => !file.endsWith('.nightly.test.ts'))
  const table = JSON.parse(readFileSync(join(root, 'scripts/test-durations.json'), 'utf8'))
  assert.deepEqual(Object.keys(table), files.toSorted(), 'npm test -- PATH --record adds one')
})

test('only the configuration reads the environment, which main.ts passes on', () => {
  const readers = sources().filter(
    ({ path, text }) =>
      /^(packages|server)\//.test(path) &&
      path !== 'server/main.ts' &&
      /\bprocess\.env\b|node:process/.test(text),
  )
  const others = readers.map(({ path }) => path).filter((path) => !path.startsWith('server/config/'))
  assert.deepEqual(others, [])
})

test('rows and columns stay in server/store, and only it parses stored JSON', () => {
  const columns = Object.values<{ columns: readonly string[] }>(TABLES).flatMap((table) => table.columns)
  // A claim of the tokens of a forge has the name of a column.
  const names = columns.filter((name) => name.includes('_') && name !== 'repository_id')
  for (const { path, text } of sources())
    if (path.startsWith('server/store/tables/'))
      names.push(...[...text.matchAll(/^export const (\w+) = new Table\(/gm)].map(([, name]) => name!))
  assert.ok(names.length > 100)
  const named = new RegExp(`\\b(${names.join('|')})\\b`)
  const usesStore =
    /^server\/(accounts|analytics|certificates(?!\/acme)|domains|edge|jobs|precompress|publish|sites)\//
  const outside = sources().filter(({ path }) => /^server\/(?!store\/)/.test(path))
  assert.deepEqual(
    outside
      .filter(({ path, text }) => named.test(text) || (usesStore.test(path) && text.includes('JSON.parse(')))
      .map(({ path }) => path),
    [],
  )
})

test('schemas of the API run in the server only: the client and the dashboard import their types', () => {
  const isBundled = (path: string) =>
    /^(client|dashboard|protocol)\//.test(path) && !path.endsWith('.schema.ts')
  const found = productSources()
    .filter(({ path }) => isBundled(path))
    .flatMap(({ path, text }) =>
      text
        .split(/^(?=import|export)/m)
        .filter((statement) => /^(import|export) (?!type )[^;]*?\.schema\.ts'/.test(statement))
        .map((statement) => `${path}: ${statement.trim()}`),
    )
  assert.deepEqual(found, [])
})

test('a constructor takes of the parts of the service what it uses', () => {
  const found = productSources()
    .filter(({ path }) => !['server/parts.ts', 'server/services.ts'].includes(path))
    .filter(
      ({ text }) =>
        /\bparts\.ts'/.test(text) &&
        text.replace(/Pick<\s*Parts\b|import type \{ Parts \}/g, '').match(/\bParts\b/) !== null,
    )
    .map(({ path }) => path)
  assert.deepEqual(found, [])
})

test('only constructors take their parts from those of the service, and handlers name the services they use', () => {
  const found = productSources()
    .filter(({ path }) => path.startsWith('server/') && !/^server\/(parts|services)\.ts$/.test(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/\bfunction (\w+)(?:<[^(]*>)?\([^)]*(?:\bPick<\s*Parts\b|: Services\b(?!\[))/g)].map(
        ([, name]) => `${path} ${name}`,
      ),
    )
    .filter((found) => !/^server\/api\/[\w-]+\.ts \w+Handlers$/.test(found))
  // It collects the handlers of all resources.
  assert.deepEqual(found, ['server/api/routes.ts routes'])
})

test('no path of a file is the pathname of a URL, which has a space in the name of a folder encoded', () => {
  const files = globSync(
    '{action,bench,client,dashboard,packages,scripts,server,test}/**/*.{js,mjs,ts,tsx}',
    {
      cwd: root,
      exclude: ['**/node_modules', '**/dist'],
    },
  )
  const encoded = /import\.meta\.url\)\.pathname/
  assert.deepEqual(
    files.filter((file) => encoded.test(readFileSync(join(root, file), 'utf8'))),
    [],
  )
})

test('node:http is imported for its types only, because its exports load an HTTP client', () => {
  const imports = sources().filter(({ path }) => /^(server|packages|client\/(sdk|cli))\//.test(path))
  assert.deepEqual(
    pluck(
      imports.filter(({ text }) => /^import (?!type)[^\n]*'node:http'/m.test(text)),
      'path',
    ),
    [],
  )
})

test('only the terminal of the command line writes to its streams, where it removes control characters', () => {
  const writing = sources()
    .filter(
      ({ path, text }) => path.startsWith('client/cli/') && /\bstd(out|err)\.write\(|\bconsole\./.test(text),
    )
    .map(({ path }) => path)
  // mcp.ts speaks JSON-RPC to a program.
  assert.deepEqual(writing, ['client/cli/mcp.ts', 'client/cli/terminal/terminal.ts'])
})

test('only test/support/browser.ts opens pages and clients of Playwright, because its waits have no limit', () => {
  const opens = /^import (?!type )[^']*'playwright-core'|\.newContext\(|\b(browser|engine)\.newPage\(/m
  const limits = /\.setDefault(Navigation)?Timeout\(|(waitFor\w*|goto|click|fetch)\([^)]*timeout: /
  const users = globSync('{test,scripts}/**/*.{ts,mjs}', { cwd: root }).filter((file) => {
    const text = readFileSync(join(root, file), 'utf8')
    return opens.test(text) || (/playwright|support\/browser|web-fixture/.test(text) && limits.test(text))
  })
  assert.deepEqual(users, ['test/support/browser.ts'])
})

test('tests choose the deadlines of what they open, because those of production pass on a busy machine', () => {
  const opens =
    /\b(?:sqliteStore|postgresStore|resolverDns|s3Blobs|openForOperator|Listener\.open)\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)/g
  const chosen = /deadlines|timeouts|timeoutMs|\b(?:common|surroundings|options)\b/i
  const ofProduction = sources()
    .filter(({ path }) => path.startsWith('test/'))
    .flatMap(({ path, text }) => [...text.matchAll(opens)].map(([call]) => ({ path, call })))
    .filter(({ call }) => !chosen.test(call))
  assert.deepEqual(ofProduction, [])
})

test('tests wait for a condition with waitFor, which names what does not become true', () => {
  const waits = /\bwhile \([^\n]*\) await (?:turn|tick|setImmediate|new Promise)\(/
  const users = globSync('{bench,packages,scripts,test}/**/*.ts', { cwd: root, exclude: ['**/node_modules'] })
  assert.deepEqual(
    users.filter((file) => waits.test(readFileSync(join(root, file), 'utf8'))),
    [],
  )
})

test('no text that a test finds on a page is a part of a word of generated slugs', () => {
  // All of their words: each is missed by 2,000 slugs with a probability of less than one in a billion.
  const slugs = Array.from({ length: 2000 }, () => newSlug().replace(/-[^-]+$/, ''))
  const words = [...new Set(slugs.flatMap((slug) => slug.split('-')))]
  const found =
    /(?:getByText\(|getByLabel\(|hasText: |getByRole\('\w+', \{ name: )'([^'\n]*)'(?!, exact|, \{ exact)/g
  const ambiguous = sources()
    .filter(({ path }) => path.startsWith('test/'))
    .flatMap(({ path, text }) => [...text.matchAll(found)].map(([, sought]) => ({ path, sought: sought! })))
    .filter(({ sought }) => words.some((word) => word.includes(sought.toLowerCase())))
  assert.deepEqual(ambiguous, [])
})

test('files are named after what they contain', () => {
  const shapeless = /(^|[/-])(utils?|helpers?|common|core|managers?|index)(-[^/]*)?\.\w+$/
  assert.deepEqual(
    sources()
      .map(({ path }) => path)
      .filter((path) => shapeless.test(path)),
    [],
  )
})

test('package-lock.json names no registry', () => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { resolved?: string }>
  }
  const resolved = Object.values(packages).map((entry) => entry.resolved ?? '')
  const exposed = resolved.filter((address) => address.includes(':'))
  assert.deepEqual(exposed, [])
})

test('README begins with the two commands', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const fenced = [...readme.matchAll(/^```\w*\n(.*?)^```/gms)].map(([, content]) => content!.trim())
  assert.deepEqual(fenced.slice(0, 2), ['npm start', 'npm test'])
})

function sources(): { path: string; text: string }[] {
  return globSync('{bench,client,dashboard,packages,protocol,scripts,server,test}/**/*.{ts,tsx,js,mjs}', {
    cwd: root,
    exclude: ['**/node_modules/**', '**/dist/**'],
  }).map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

function productSources(): { path: string; text: string }[] {
  return sources().filter(
    ({ path }) => /^(client|dashboard|packages|protocol|server)\//.test(path) && !path.includes('/test/'),
  )
}

function importsOf(path: string, text: string): Import[] {
  const specifiers = text.matchAll(/(\btype [^'"]*)?(?<!\.)\b(?:from|import)\s*\(?\s*['"]([^'"\n]+)['"]/g)
  return [...specifiers].map(([, type, specifier]) => ({
    from: path,
    to: resolveSpecifier(path, specifier!),
    isType: type !== undefined,
  }))
}

function brokenImports(path: string, text: string): string[] {
  return importsOf(path, text).flatMap((one) => {
    const rule = RULES.find((candidate) => candidate.isBroken(one))
    return rule ? [`${one.from} imports ${one.to}: ${rule.sentence}`] : []
  })
}

function resolveSpecifier(path: string, specifier: string): string {
  return specifier.startsWith('.') ? normalize(join(dirname(path), specifier)) : specifier
}

/** The importing and the imported folder below the nearest folder of both; undefined when a file is directly in that one. */
function siblingFolders({ from, to }: Import): string | undefined {
  const [one, other] = [from.split('/'), to.split('/')]
  const depth = one.findIndex((name, at) => name !== other[at]) + 1
  if (!/^(packages|server)\//.test(to) || depth >= one.length || depth >= other.length) return undefined
  return `${one.slice(0, depth).join('/')} ${other.slice(0, depth).join('/')}`
}

/** Strongly connected components with more than one file (Tarjan). */
function cyclesIn(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const index = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const cycles: string[][] = []
  const visit = (file: string) => {
    index.set(file, index.size)
    low.set(file, index.get(file)!)
    stack.push(file)
    for (const next of graph.get(file) ?? []) {
      if (!graph.has(next)) continue
      if (!index.has(next)) visit(next)
      if (stack.includes(next)) low.set(file, Math.min(low.get(file)!, low.get(next)!))
    }
    if (low.get(file) !== index.get(file)) return
    const component = stack.splice(stack.indexOf(file))
    if (component.length > 1) cycles.push(component.toSorted())
  }
  for (const file of graph.keys()) if (!index.has(file)) visit(file)
  return cycles
}

/** `path`, `path Class` and `path function` beyond the limits. */
function oversizedUnits(path: string, text: string): string[] {
  const lineAt = lineNumbers(text)
  const found: string[] = lineAt(text.length) > MAX_FILE_LINES ? [path] : []
  const check = (name: string, { start, end }: { start: number; end: number }) => {
    if (lineAt(end) - lineAt(start) + 1 > MAX_FUNCTION_LINES) found.push(`${path} ${name}`)
  }
  new Visitor({
    FunctionDeclaration: (node) => check(node.id?.name ?? 'default', node),
    MethodDefinition: (node) => check('name' in node.key ? String(node.key.name) : 'method', node),
    VariableDeclarator: ({ id, init }) => {
      if (init?.type !== 'ArrowFunctionExpression' && init?.type !== 'FunctionExpression') return
      check(id.type === 'Identifier' ? id.name : 'function', init)
    },
    ClassDeclaration: ({ id, body }) => {
      if (body.body.length > MAX_CLASS_MEMBERS) found.push(`${path} ${id?.name}`)
    },
  }).visit(parseSync(path, text).program)
  return found
}

function lineNumbers(text: string): (offset: number) => number {
  const starts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return (offset) => {
    const after = starts.findIndex((start) => start > offset)
    return after < 0 ? starts.length : after
  }
}
