import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { alternate, checkOut, KINDS, MOST_TIMES } from './compare.ts'
import { median } from './figures.ts'
import { ROOT, scratchFolder } from './server-process.ts'

// The check `costs` of CI: the CPU time of a publish, an update and a visit, beside the newest commit of an earlier day and
// beside REFERENCE, because a tenth more each day would double it in eight days. Exits with 1 when one of them is above the
// limit in each of three groups of processes. A commit that has to cost more says so in its message: `Costs-more: publish,
// update`; from then on the reference does not limit these until it moves to that commit or a later one. AGAINST=COMMIT
// compares with one other commit only.

/** It moves when something has become faster, or may cost more. */
const REFERENCE = 'a531d57d'

const GROUPS = 3
const ROUNDS = 5

const commits = process.env.AGAINST ? [process.env.AGAINST] : [earlierCommit(), REFERENCE]
const missing = commits.filter((commit) => commit === undefined || !isKnown(commit))
if (missing.length === 0) process.exitCode = await guard(commits as string[])
else {
  console.log(
    `not compared: this clone lacks ${missing.map((one) => one ?? 'a commit of an earlier day').join(' and ')}`,
  )
  console.log('`git fetch --unshallow` fetches the whole history.')
  if (process.env.CI === 'true') process.exitCode = 1
}

async function guard(others: readonly string[]): Promise<number> {
  let exceeded = others.flatMap((commit, index) => {
    const accepted = git('log', '--format=%(trailers:key=Costs-more,valueonly)', `${commit}..HEAD`)
    return KINDS.filter((kind) => !accepted.includes(kind)).map((kind) => ({ kind, index }))
  })
  await using scratch = await scratchFolder()
  const trees = others.map((commit) => checkOut(commit, join(scratch.path, commit)).path)
  for (let group = 0; group < GROUPS && exceeded.length > 0; group++) {
    const rounds = await alternate(trees, scratch.path, ROUNDS)
    const times = others.map((_, index) => {
      const ratio = (kind: (typeof KINDS)[number]) =>
        median(rounds.map((costs) => costs.at(-1)![kind] / costs[index]![kind]))
      return Object.fromEntries(KINDS.map((kind) => [kind, ratio(kind)]))
    })
    for (const [index, commit] of others.entries())
      console.log(
        `CPU time over that of ${commit.slice(0, 8)}: ${KINDS.map((kind) => `${kind} ${times[index]![kind]!.toFixed(2)}`).join(', ')}`,
      )
    exceeded = exceeded.filter(({ kind, index }) => times[index]![kind]! > MOST_TIMES)
  }
  if (exceeded.length === 0) return 0
  const kinds = [...new Set(exceeded.map(({ kind }) => kind))].join(', ')
  console.log(
    `${kinds}: more than ${MOST_TIMES} times in ${GROUPS} groups of processes. When the reason is worth it, end a commit ` +
      `message with "Costs-more: ${kinds}".`,
  )
  return 1
}

/** The newest commit of a day before that of the last one; undefined in a clone without it. */
function earlierCommit(): string | undefined {
  try {
    const day = git('log', '-1', '--format=%cd', '--date=short')
    return git('rev-list', '-1', `--before=${day}T00:00:00`, 'HEAD') || undefined
  } catch {
    return undefined
  }
}

function isKnown(commit: string): boolean {
  try {
    git('cat-file', '-e', `${commit}^{commit}`)
    return true
  } catch {
    return false
  }
}

function git(...args: string[]): string {
  return execFileSync('git', args, {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim()
}
