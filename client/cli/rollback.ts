import { chooseSite, ownerClient } from './account.ts'
import { RefusedError } from './cli-error.ts'
import { type Command, JSON_OPTION, SERVER_OPTION, SITE_OPTION } from './command.ts'
import { reportRestored } from './restore.ts'

/** `slipway rollback` */
export const rollback: Command = {
  name: 'rollback',
  operands: '',
  maxOperands: 0,
  summary: 'Go back to the previous live version',
  about: `
Makes the newest version live that was live before the current one. Repeat it to go further back; restore goes to any
version.`,
  options: { site: SITE_OPTION, json: JSON_OPTION, server: SERVER_OPTION },
  async run(work, options) {
    const site = await chooseSite(work, options)
    const slipway = ownerClient(work, options, site)
    const { versions } = await slipway.versions(site.slug)
    const older = versions.slice(versions.findIndex(({ current }) => current) + 1)
    const previous = older.find(({ publishedAt }) => publishedAt !== null)
    if (!previous) {
      const hint = `List the saved versions: ${work.settings.program} versions`
      throw new RefusedError('There is no earlier live version', hint)
    }
    reportRestored(work, options, await slipway.restore(site.slug, previous.versionId))
  },
}
