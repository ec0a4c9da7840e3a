import { isSlipwayError } from '../sdk/slipway-error.ts'
import { openSite } from './account.ts'
import { InterruptedError, RefusedError, UnconfirmedError } from './cli-error.ts'
import { type Command, SITE_OPTIONS } from './command.ts'
import { reportRestored } from './restore.ts'
import { describeVersion } from './version-id.ts'

/** `slipway rollback` */
export const rollback: Command = {
  name: 'rollback',
  operands: '',
  summary: 'Go back to the previous live version',
  about: `
Makes the version live that the current one replaced. Repeat it to go further back; restore goes to any version.`,
  options: SITE_OPTIONS,
  async run(work, options) {
    const site = await openSite(work, options)
    const { slug, slipway } = site
    const { versions } = await slipway.versions(slug)
    const live = versions.find(({ current }) => current)
    const restored = await slipway.restore(slug, 'previous', live?.versionId).catch((error: unknown) => {
      const list = `${work.settings.program} versions`
      if (isSlipwayError(error, 'NOT_FOUND'))
        throw new RefusedError('There is no earlier live version', `List the saved versions: ${list}`)
      const hint = `The site may have been rolled back. Before you repeat it, see which version is live: ${list}`
      if (work.signal.aborted) throw new InterruptedError('Interrupted', hint)
      if (isSlipwayError(error, 'NETWORK', 'BAD_ANSWER', 'UNAVAILABLE', 'INTERNAL'))
        throw new UnconfirmedError(error, hint)
      throw error
    })
    const name = describeVersion(restored.versionId, work.retryPolicy.now(), versions)
    reportRestored(work, options, site, restored, `Rolled back to ${name}`)
  },
}
