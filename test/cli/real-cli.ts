import type { Slipway } from '../../client/sdk/slipway.ts'
import { sendRequest } from '../support/http-client.ts'
import { type RunningService, startTestService } from '../support/service.ts'
import { startForAllTests } from '../support/started-fixture.ts'
import { CliHarness } from './cli-harness.ts'

/** A command line in its own working folder, and the real service that it uses. */
export interface RealCli extends Disposable {
  service: RunningService
  cli: CliHarness
  /** Moves the clock by a millisecond, which is enough to order versions. */
  pass(): void
  /** The status that a visitor of a site receives. */
  status(siteUrl: string, path: string): Promise<number>
  /** Uses the key of a new account from now on. */
  signIn(): Promise<Slipway>
}

/** Starts a service for the suite around it; returns a function that starts a command line with these files. */
export function useRealService(): (files: Record<string, string>) => RealCli {
  const service = startForAllTests(() => startTestService())
  let accounts = 0
  return (files) => {
    const cli = new CliHarness()
    cli.env.SLIPWAY_URL = service.baseUrl
    cli.now = service.clock.now
    cli.write(files)
    return {
      service,
      cli,
      pass: () => void service.clock.now++,
      async status(siteUrl, path) {
        return (await sendRequest(service.port, { site: slugOf(siteUrl), path })).status
      },
      async signIn() {
        const key = await service.signIn(`ann-${++accounts}@example.test`)
        cli.env.SLIPWAY_KEY = key
        return service.client(key)
      },
      [Symbol.dispose]: () => cli[Symbol.dispose](),
    }
  }
}

export function slugOf(siteUrl: string): string {
  return new URL(siteUrl.trim()).hostname.split('.')[0]!
}
