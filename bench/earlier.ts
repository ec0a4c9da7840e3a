import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { checkOut } from './compare.ts'
import { compareEach, type Measurement, median } from './figures.ts'
import {
  finalize,
  makeContent,
  prepareSide,
  type Side,
  stage,
  touch,
  update,
  uploadAll,
} from './publish-flow.ts'
import { SERVER_PATH, scratchFolder, startServer } from './server-process.ts'
import { threadSeconds } from './serving/processes.ts'

/** Before the features of the last weeks, in a tree that still builds. */
const COMMIT = '4ed3342'

const FILES = 1000
const BYTES = 10_240
const ROUNDS = 7
const UPDATES = 10

/** The work after a response, which must not count for the next one. */
const PAUSE_MS = 200

const MEASURED = {
  finalizeCpu: 'CPU of the finalize of 1,000 new files',
  finalizeTime: 'finalize of 1,000 new files',
  updateCpu: 'CPU of an update of one file in 1,000',
  updateTime: 'update of one file in 1,000',
  laterCpu: `CPU in the ${PAUSE_MS} ms after an update`,
}

/** Milliseconds. */
type Costs = Record<keyof typeof MEASURED, number>

/** The write path of sites with many files, beside that of a commit that was faster. */
export const earlier: Measurement = {
  name: 'earlier',
  means: `1,000 files of 10 kB that get no encodings, beside commit ${COMMIT}`,
  onRequest: true,
  async run({ quick }) {
    await using scratch = await scratchFolder()
    const { path } = checkOut(COMMIT, scratch.path)
    const old = { program: join(path, SERVER_PATH), isOld: true }
    await using before = await startServer(join(scratch.path, 'before'), old)
    await using now = await startServer(join(scratch.path, 'now'))
    const sides = [await prepareSide(before, makeFiles()), await prepareSide(now, makeFiles())] as const
    const rounds: [before: Costs, now: Costs][] = []
    for (let round = 0; round <= (quick ? 2 : ROUNDS); round++) {
      const found: [Costs, Costs] = [await measure(sides[0]), await measure(sides[1])]
      if (round > 0) rounds.push(found)
    }
    const target = { finalizeCpu: 0.4, finalizeTime: 0.4, updateCpu: 0.8, updateTime: 0.8 }
    return compareEach(MEASURED, { unit: 'ms', names: [COMMIT, 'this tree'], target }, rounds)
  },
}

const makeFiles = () => makeContent(FILES, BYTES, 'bin')

async function measure({ server, content, site }: Side): Promise<Costs> {
  const { baseUrl, pid } = server
  const fresh = makeContent(FILES, BYTES, 'bin')
  const plan = await stage(baseUrl, fresh)
  await uploadAll(plan, fresh)
  await pause(PAUSE_MS)
  const finalized = await cost(pid, () => finalize(plan))
  await pause(PAUSE_MS)
  const updates: { cpu: number; time: number; later: number }[] = []
  for (let index = 0; index < UPDATES; index++) {
    touch(content, BYTES)
    const found = await cost(pid, () => update(baseUrl, site, content))
    updates.push({ ...found, later: (await cost(pid, () => pause(PAUSE_MS))).cpu })
  }
  return {
    finalizeCpu: finalized.cpu,
    finalizeTime: finalized.time,
    updateCpu: median(updates.map(({ cpu }) => cpu)),
    updateTime: median(updates.map(({ time }) => time)),
    laterCpu: median(updates.map(({ later }) => later)),
  }
}

/** Milliseconds of CPU of a process and by the clock. */
export async function cost(
  pid: number,
  work: () => Promise<unknown>,
): Promise<{ cpu: number; time: number }> {
  const [before, startedAt] = [threadSeconds(pid), performance.now()]
  await work()
  const time = performance.now() - startedAt
  return { cpu: 1000 * (threadSeconds(pid) - before), time }
}
