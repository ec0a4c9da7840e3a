import { join } from 'node:path'
import { whatIsMissing } from '../../scripts/test-dependencies.mjs'
import { startPostgres } from '../../test/tools/postgres.ts'
import { compareEach, type Measurement } from '../figures.ts'
import { makeContent, publish, publishWithSdk, toFiles, touch, update } from '../publish-flow.ts'
import { scratchFolder, startServer } from '../server-process.ts'
import { nodeSettings } from './settings.ts'

const FILES = 1000
const BYTES = 10_240
const ROUNDS = 9

const MAX_RATIO = 1.6

const MEASURED = {
  publish: 'publish through the API',
  bundles: 'publish through the SDK, in bundles',
  finalize: 'finalize',
  update: 'update with one file changed',
}

/** Milliseconds of one round. */
type Times = Record<keyof typeof MEASURED, number>

/** Publishing with PostgreSQL beside the embedded store, both with their files in a folder of the same disk. */
export const engines: Measurement = {
  name: 'engines',
  means: '1,000 files of 10 kB with PostgreSQL and a folder, beside the embedded store',
  missing: () => whatIsMissing('postgres'),
  async run({ quick }) {
    await using postgres = await startPostgres({ isDurable: true })
    await using scratch = await scratchFolder()
    await using embedded = await startServer(join(scratch.path, 'embedded'))
    const settings = await nodeSettings(await postgres.createDatabase())
    await using node = await startServer(join(scratch.path, 'postgres'), { settings })
    const rounds: [embedded: Times, postgres: Times][] = []
    for (let round = 0; round <= (quick ? 3 : ROUNDS); round++) {
      const taken: [Times, Times] = [await measure(embedded.baseUrl), await measure(node.baseUrl)]
      if (round > 0) rounds.push(taken)
    }
    return compareEach(MEASURED, { unit: 'ms', names: ['embedded', 'PostgreSQL'], target: MAX_RATIO }, rounds)
  },
}

async function measure(baseUrl: string): Promise<Times> {
  const content = makeContent(FILES, BYTES)
  const { phases, site } = await publish(baseUrl, content)
  touch(content, BYTES)
  const updated = await update(baseUrl, site, content)
  const bundles = await publishWithSdk(baseUrl, toFiles(makeContent(FILES, BYTES)))
  return {
    publish: phases.total,
    finalize: phases.finalize,
    update: updated.phases.total,
    bundles: bundles.milliseconds,
  }
}
