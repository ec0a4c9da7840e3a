import { join } from 'node:path'
import { type Figure, figure, type Measurement } from './figures.ts'
import { makeContent, publish } from './publish-flow.ts'
import { ROOT, type ServerProcess, scratchFolder, startServer } from './server-process.ts'
import { familySeconds } from './serving/processes.ts'

const ROUNDS = 15
const CALLERS = [16, 64]
const PUBLISHES = 320
/** A server that has just started compiles. */
const WARM_UP = 700

const SERVERS = {
  bare: { program: join(ROOT, 'bench/bare-publisher.mjs') },
  ours: {},
  two: { settings: { WORKERS: '2' } },
} as const

type Name = keyof typeof SERVERS

/** What a publish of one small file costs beside the least that a server can do for it. */
export const oneFile: Measurement = {
  name: 'one-file',
  means: 'publishes of one page of 200 bytes, beside a bare server that only makes them durable',
  async run({ quick }) {
    await using scratch = await scratchFolder()
    await using started = new AsyncDisposableStack()
    const servers = {} as Record<Name, ServerProcess>
    for (const name of Object.keys(SERVERS) as Name[]) {
      servers[name] = started.use(await startServer(join(scratch.path, name), SERVERS[name]))
      await publishMany(servers[name], 16, quick ? 100 : WARM_UP)
    }
    const rounds: Record<string, number>[] = []
    for (let round = 0; round < (quick ? 2 : ROUNDS); round++) rounds.push(await oneRound(servers, round))
    return figures(rounds)
  },
}

async function oneRound(
  servers: Record<Name, ServerProcess>,
  round: number,
): Promise<Record<string, number>> {
  const found: Record<string, number> = {}
  const names = Object.keys(SERVERS) as Name[]
  for (const callers of CALLERS)
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const { cpu, rate } = await publishMany(servers[name], callers, PUBLISHES)
      found[`${name} ${callers} cpu`] = cpu
      found[`${name} ${callers} rate`] = rate
    }
  return found
}

/** Microseconds of CPU of a publish, and publishes a second. */
async function publishMany({ baseUrl, pid }: ServerProcess, callers: number, count: number) {
  const [before, startedAt] = [familySeconds(pid), performance.now()]
  const caller = async () => {
    for (let index = 0; index < count / callers; index++) await publish(baseUrl, makeContent(1, 2000))
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return {
    cpu: (1e6 * (familySeconds(pid) - before)) / count,
    rate: (1000 * count) / (performance.now() - startedAt),
  }
}

function figures(rounds: readonly Record<string, number>[]): Figure[] {
  const of = (name: string) => rounds.map((round) => round[name]!)
  const ratio = (name: string, floor: string) => rounds.map((round) => round[name]! / round[floor]!)
  return CALLERS.flatMap((callers) => {
    const [bare, ours, two] = ['bare', 'ours', 'two'].map((name) => `${name} ${callers}`)
    return [
      figure(`${callers} callers: CPU of a publish, bare`, 'µs', of(`${bare} cpu`)),
      figure(`${callers} callers: CPU of a publish, ours`, 'µs', of(`${ours} cpu`)),
      figure(`${callers} callers: CPU, of bare`, 'times', ratio(`${ours} cpu`, `${bare} cpu`), 2.2),
      figure(`${callers} callers: publishes, bare`, 'a second', of(`${bare} rate`)),
      figure(`${callers} callers: publishes, ours`, 'a second', of(`${ours} rate`)),
      figure(`${callers} callers: publishes, of bare`, 'times', ratio(`${ours} rate`, `${bare} rate`), {
        atLeast: 0.5,
      }),
      figure(`${callers} callers: publishes, ours with two workers`, 'a second', of(`${two} rate`)),
      figure(`${callers} callers: CPU of a publish, two workers`, 'µs', of(`${two} cpu`)),
      figure(
        `${callers} callers: publishes, two workers of one`,
        'times',
        ratio(`${two} rate`, `${ours} rate`),
        {
          atLeast: 1.7,
        },
      ),
      figure(
        `${callers} callers: publishes per second of CPU time, times two, two workers of one`,
        'times',
        ratio(`${ours} cpu`, `${two} cpu`).map((times) => 2 * times),
        { atLeast: 1.7 },
      ),
    ]
  })
}
