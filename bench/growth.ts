import { join } from 'node:path'
import { figure, type Measurement, median } from './figures.ts'
import { makeContent, publish, type Site, touch, update } from './publish-flow.ts'
import { scratchFolder, startServer } from './server-process.ts'

const VERSIONS = 10_000
const FILES = 1000
const BYTES = 1024
const ROUNDS = 15

/** Whether a publish costs the same with ten thousand versions in the store. */
export const growth: Measurement = {
  name: 'growth',
  means: 'update and publish with 10,000 versions in the store, against the first',
  async run() {
    await using scratch = await scratchFolder()
    await using server = await startServer(join(scratch.path, 'data'), {
      settings: { VERSIONS_KEPT: '1000' },
    })
    const first = await sample(server.baseUrl)
    const sites: { site: Site; content: ReturnType<typeof makeContent> }[] = []
    for (let version = 0; version < VERSIONS; version++) {
      const place = version % 20
      const known = sites[place]
      const content = known?.content ?? makeContent(100, BYTES)
      if (known) {
        touch(content, BYTES)
        await update(server.baseUrl, known.site, content)
      } else sites[place] = { content, site: (await publish(server.baseUrl, content)).site }
    }
    const last = await sample(server.baseUrl)
    return [
      figure('update of 1,000 files, first in the store', 'ms', first.update),
      figure('update of 1,000 files, after 10,000 versions', 'ms', last.update),
      figure('the same, relative to the first', 'times', [median(last.update) / median(first.update)], 1.25),
      figure('stage 1,000 files, after 10,000 versions', 'ms', last.stage, 40),
      figure('finalize 1,000 files, after 10,000 versions', 'ms', last.finalize, 200),
    ]
  },
}

async function sample(baseUrl: string) {
  const taken = { update: [] as number[], stage: [] as number[], finalize: [] as number[] }
  for (let round = 0; round < ROUNDS; round++) {
    const content = makeContent(FILES, BYTES)
    const { phases, site } = await publish(baseUrl, content)
    touch(content, BYTES)
    taken.update.push((await update(baseUrl, site, content)).phases.total)
    taken.stage.push(phases.create)
    taken.finalize.push(phases.finalize)
  }
  return taken
}
