import { openSite } from './account.ts'
import { RefusedError } from './cli-error.ts'
import { type Command, SITE_OPTIONS } from './command.ts'
import { reportRestored } from './restore.ts'
import { describeVersion } from './version-id.ts'

/** `slipway rollback` */
export const rollback: Command = {
  name: 'rollback',
  operands: '',
  maxOperands: 0,
  summary: 'Go back to the previous live version',
  about: `
Makes the newest version live that was live before the current one. Repeat it to go further back; restore goes to any
version.`,
  options: SITE_OPTIONS,
  async run(work, options) {
    const site = await openSite(work, options)
    const { slug, slipway } = site
    const { versions } = await slipway.versions(slug)
    const older = versions.slice(versions.findIndex(({ current }) => current) + 1)
    const previous = older.find(({ publishedAt }) => publishedAt !== null)
    if (!previous) {
      const hint = `List the saved versions: ${work.settings.program} versions`
      throw new RefusedError('There is no earlier live version', hint)
    }
    const restored = await slipway.restore(slug, previous.versionId)
    const name = describeVersion(previous.versionId, work.retryPolicy.now(), versions)
    reportRestored(work, options, site, restored, `Rolled back to ${name}`)
  },
}
