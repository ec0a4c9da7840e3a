import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { cost } from './earlier.ts'
import { compareEach, type Measurement, median } from './figures.ts'
import { type Content, finalize, prepareSide, type Side, stage, update, uploadAll } from './publish-flow.ts'
import { ROOT, scratchFolder, startServer } from './server-process.ts'

const FILES = 1000
const BYTES = 10_240
const ROUNDS = 7
const UPDATES = 7

/** The work after a response, which must not count for the next one. */
const PAUSE_MS = 300

const MEASURED = {
  finalizeCpu: 'CPU of the finalize of 1,000 new files',
  finalizeTime: 'finalize of 1,000 new files',
  updateCpu: 'CPU of an update of one file in 1,000',
  updateTime: 'update of one file in 1,000',
}

/** Milliseconds. */
type Costs = Record<keyof typeof MEASURED, number>

/** What the scan for secrets adds to publishes, in the process that serves, with all of its threads. */
export const scannedPublishes: Measurement = {
  name: 'scanned-publishes',
  means:
    '1,000 files of 10 kB of JavaScript of a type that gets no encodings, with the scan for secrets and with SLIPWAY_SECRET_SCAN=off',
  onRequest: true,
  async run({ quick }) {
    await using scratch = await scratchFolder()
    const settings = { SECRET_SCAN: 'off' }
    await using off = await startServer(join(scratch.path, 'off'), { settings })
    await using on = await startServer(join(scratch.path, 'on'))
    const sides = [await prepareSide(off, makeScripts()), await prepareSide(on, makeScripts())] as const
    const rounds: [off: Costs, on: Costs][] = []
    for (let round = 0; round <= (quick ? 3 : ROUNDS); round++) {
      const found = sides.map(() => undefined as unknown as Costs) as [Costs, Costs]
      for (const index of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const))
        found[index] = await measure(sides[index])
      if (round > 0) rounds.push(found)
    }
    const target = { finalizeCpu: 1.1, finalizeTime: 1.1, updateCpu: 1, updateTime: 1 }
    return compareEach(MEASURED, { unit: 'ms', names: ['without a scan', 'with it'], target }, rounds)
  },
}

async function measure({ server, content, site }: Side): Promise<Costs> {
  const { baseUrl, pid } = server
  const fresh = makeScripts()
  const plan = await stage(baseUrl, fresh)
  await uploadAll(plan, fresh)
  await pause(PAUSE_MS)
  const finalized = await cost(pid, () => finalize(plan))
  const updates: { cpu: number; time: number }[] = []
  for (let index = 0; index < UPDATES; index++) {
    content.set('script-0.pem', makeScript())
    await pause(PAUSE_MS)
    updates.push(await cost(pid, () => update(baseUrl, site, content)))
  }
  return {
    finalizeCpu: finalized.cpu,
    finalizeTime: finalized.time,
    updateCpu: median(updates.map(({ cpu }) => cpu)),
    updateTime: median(updates.map(({ time }) => time)),
  }
}

function makeScripts(): Content {
  return new Map(Array.from({ length: FILES }, (_, index) => [`script-${index}.pem`, makeScript()]))
}

const program = readFileSync(join(ROOT, 'node_modules/playwright-core/lib/coreBundle.js'))

/** A new one: a part of a real program, after a number. */
function makeScript(): Buffer {
  const start = randomBytes(4).readUInt32LE() % (program.length - BYTES)
  const number = Buffer.from(`// ${randomBytes(8).toString('hex')}\n`)
  return Buffer.concat([number, program.subarray(start, start + BYTES - number.length)])
}
