import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findSecrets } from '../server/publish/secrets/secret-rules.ts'
import { figure, type Measurement } from './figures.ts'
import { ROOT } from './server-process.ts'

const ROUNDS = 5
const MB = 1e6

/** 40 MB a second. */
const MAX_MS_PER_MB = 25

/** The scan of the JavaScript of the packages that this repository installs. */
export const secrets: Measurement = {
  name: 'secrets',
  means: 'the scan of the JavaScript of installed packages for secrets',
  onRequest: true,
  async run({ quick }) {
    const paths = globSync('node_modules/{playwright-core,vite,typescript,rolldown}/**/*.{js,mjs,map}', {
      cwd: ROOT,
    })
    const texts = paths.map((path) => readFileSync(join(ROOT, path), 'latin1'))
    const megabytes = texts.reduce((sum, { length }) => sum + length, 0) / MB
    const rounds: number[] = []
    for (let round = 0; round <= (quick ? 1 : ROUNDS); round++) {
      const before = process.cpuUsage()
      const found = texts.flatMap((text) => findSecrets(text))
      const { user, system } = process.cpuUsage(before)
      if (found.length > 0)
        throw new Error(`${found.length} secrets in packages, such as a ${found[0]!.kind}`)
      if (round > 0) rounds.push((user + system) / 1000 / megabytes)
    }
    return [
      figure(
        `CPU of the scan for secrets of a MB, of ${Math.round(megabytes)} MB`,
        'ms',
        rounds,
        MAX_MS_PER_MB,
      ),
    ]
  },
}
