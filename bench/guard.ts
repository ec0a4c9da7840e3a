import { execFileSync } from 'node:child_process'
import { alternate, checkOut, KINDS, type Kind, MOST_TIMES } from './compare.ts'
import { median } from './figures.ts'
import { ROOT, scratchFolder } from './server-process.ts'

// The check `costs` of CI: the CPU time of a publish, an update and a visit, beside the newest commit of an earlier day.
// Exits with 1 when one of them is above the limit in each of three pairs of processes. A commit that has to cost more
// says so in its message: `Costs-more: publish, update`. AGAINST=COMMIT compares with another commit.

const PAIRS = 3
const ROUNDS = 5

const against = process.env.AGAINST ?? earlierCommit()
if (against === undefined) console.log('not compared: this clone has no commit of an earlier day')
else process.exitCode = await guard(against)

async function guard(commit: string): Promise<number> {
  const accepted = git('log', '--format=%(trailers:key=Costs-more,valueonly)', `${commit}..HEAD`)
  let exceeded: readonly Kind[] = KINDS.filter((kind) => !accepted.includes(kind))
  if (exceeded.length === 0) {
    console.log(`not compared: everything may cost more than in ${commit}`)
    return 0
  }
  await using scratch = await scratchFolder()
  const before = checkOut(commit, scratch.path)
  for (let pair = 0; pair < PAIRS && exceeded.length > 0; pair++) {
    const rounds = await alternate(before.path, scratch.path, ROUNDS)
    const times = (kind: Kind) => median(rounds.map(([older, newer]) => newer[kind] / older[kind]))
    console.log(
      `CPU time over that of ${before.commit}: ${KINDS.map((kind) => `${kind} ${times(kind).toFixed(2)}`).join(', ')}`,
    )
    exceeded = exceeded.filter((kind) => times(kind) > MOST_TIMES)
  }
  if (exceeded.length === 0) return 0
  console.log(
    `${exceeded.join(', ')}: more than ${MOST_TIMES} times in ${PAIRS} pairs of processes. When the reason is worth it, ` +
      `end a commit message with "Costs-more: ${exceeded.join(', ')}".`,
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

function git(...args: string[]): string {
  return execFileSync('git', args, {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim()
}
