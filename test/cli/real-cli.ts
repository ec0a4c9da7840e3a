import { get } from 'node:http'
import type { Slipway } from '../../client/sdk/slipway.ts'
import { startTestService } from '../support/service.ts'
import { CliHarness } from './cli-harness.ts'

/** Commands against a real service, in a working folder with these files. */
export async function startRealCli(files: Record<string, string>) {
  const service = await startTestService()
  const cli = new CliHarness()
  cli.env.SLIPWAY_URL = service.baseUrl
  cli.now = service.clock.now
  cli.write(files)
  return {
    service,
    cli,
    /** Moves the clock by a millisecond, which is enough to order versions. */
    pass: () => {
      service.clock.now++
    },
    /** The status that a visitor of a site receives. */
    status: (siteUrl: string, path: string) =>
      new Promise<number>((resolve, reject) => {
        const headers = { host: new URL(siteUrl).host }
        get(new URL(path, service.baseUrl), { headers }, (response) => {
          response.resume()
          resolve(response.statusCode!)
        }).on('error', reject)
      }),
    /** Uses the key of an account from now on. */
    async signIn(): Promise<Slipway> {
      const key = await service.signIn('ann@example.test')
      cli.env.SLIPWAY_KEY = key
      return service.client(key)
    },
    async [Symbol.asyncDispose]() {
      cli[Symbol.dispose]()
      await service[Symbol.asyncDispose]()
    },
  }
}
