import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { root } from './root.mjs'

/** Files that are built into others: a change of the first reaches the tests that load or name what is built. */
const BUILDS: { from: RegExp; to?: string; named: RegExp }[] = [
  {
    from: /^(dashboard|client\/sdk|protocol)\//,
    to: 'test/dashboard/web-fixture.ts',
    named: /dashboard\/|support\/browser/,
  },
  { from: /^(docs|scripts\/reference)\//, to: 'docs', named: /['"`/]docs\b|llms/ },
  { from: /^(client|protocol)\//, named: /cli\.tgz/ },
]

/** A change of these reaches every test. */
const EVERYTHING = /^(package(-lock)?\.json|tsconfig\.json|scripts\/(test|run-|shared-|server-).*)$/

/** The command of the operator is started by its name. */
const PROGRAM_NAME = /slipway-server\b/
const PROGRAM = 'server/main.ts'

/** Quoted paths of files: imports, and programs, documents and fixtures that a test opens. */
const QUOTED = /['"`]([^'"`\n$]*\.(?:tsx?|mjs|js|json|ya?ml|sh|md|css|html|tar\.gz|sql))['"`]/g

/**
 * The paths of files that differ from the branch that this one follows, or from its last commit: committed, changed and
 * new ones.
 */
export function changedFiles(): string[] {
  const base = git('merge-base', 'HEAD', '@{upstream}') ?? git('rev-parse', 'HEAD')
  if (base === undefined) throw new Error('--changed needs git and a commit to compare with')
  const changed = git('diff', '--name-only', base.trim()) ?? ''
  const added = git('ls-files', '--others', '--exclude-standard') ?? ''
  return [...new Set(`${changed}\n${added}`.split('\n').filter((path) => path !== ''))]
}

/**
 * The test files from which imports and quoted paths lead to one of the changed files: those that a row of `guards` names
 * for such a file first, then by the number of files in between.
 */
export function testsOf(
  changed: readonly string[],
  tests: readonly string[],
  guards: readonly { file: string; tests: readonly string[] }[] = [],
): string[] {
  if (changed.some((path) => EVERYTHING.test(path))) return [...tests]
  const builds = BUILDS.filter(({ from }) => changed.some((path) => from.test(path)))
  const distances = measureDistances([...changed, ...builds.flatMap(({ to }) => to ?? [])], tests)
  const guarding = new Set(guards.filter(({ file }) => changed.includes(file)).flatMap((row) => row.tests))
  const distanceOf = (test: string) => (guarding.has(test) ? -1 : (distances.get(test) ?? Infinity))
  const reached = tests.filter(
    (test) => distances.has(test) || builds.some(({ named }) => named.test(readSource(test))),
  )
  return reached.toSorted((one, other) => compareNumbers(distanceOf(one), distanceOf(other)))
}

/** How many references lead from each file, of those that tests reach, to the nearest target. */
function measureDistances(targets: readonly string[], tests: readonly string[]): Map<string, number> {
  const users = new Map<string, string[]>()
  const seen = new Set(tests)
  for (const path of seen)
    for (const next of references(path)) {
      users.set(next, [...(users.get(next) ?? []), path])
      seen.add(next)
    }
  const distances = new Map(targets.map((target) => [target, 0]))
  for (const [path, distance] of distances)
    for (const user of users.get(path) ?? []) if (!distances.has(user)) distances.set(user, distance + 1)
  return distances
}

function compareNumbers(one: number, other: number): number {
  return one === other ? 0 : one - other
}

/** Comments name files for the reader. */
const COMMENT_LINES = /^\s*(\/\/|\/?\*).*$/gm

const known = new Map<string, string[]>()

/** The files of the project that a file names. */
function references(path: string): string[] {
  const cached = known.get(path)
  if (cached) return cached
  const found = /\.(tsx?|mjs|js)$/.test(path) ? readReferences(path) : []
  known.set(path, found)
  return found
}

function readReferences(path: string): string[] {
  const text = readSource(path).replaceAll(COMMENT_LINES, '')
  const quotes = [...text.matchAll(QUOTED)].flatMap(([, quoted]) => {
    const candidates = [join(root, dirname(path), quoted!), join(root, quoted!)]
    const file = candidates.find((one) => existsSync(one) && statSync(one).isFile())
    return file === undefined ? [] : [relative(root, file)]
  })
  return path.startsWith('test/') && PROGRAM_NAME.test(text) ? [...quotes, PROGRAM] : quotes
}

function readSource(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

function git(...args: string[]): string | undefined {
  try {
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  } catch {
    return undefined
  }
}
