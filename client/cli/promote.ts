import { openSite } from './account.ts'
import { type Command, SITE_OPTIONS, stringOption } from './command.ts'
import { resolvePreview, toUnknownPreview } from './previews.ts'
import { reportRestored } from './restore.ts'
import { describeVersion, findVersionId } from './version-id.ts'

/** `slipway promote [preview]` */
export const promote: Command = {
  name: 'promote',
  operands: '[preview]',
  maxOperands: 1,
  summary: 'Make the version of a preview live',
  about: `
Makes exactly the version of a preview live, immediately and without uploading. With --version it is refused if the
preview shows another one. On a terminal, leave the preview out to choose from a list.`,
  options: {
    ...SITE_OPTIONS,
    version: { type: 'string', value: 'ID', help: 'Refuse if the preview shows another version' },
  },
  async run(work, options, [typed]) {
    const site = await openSite(work, options)
    const { slug, slipway } = site
    const name = await resolvePreview(work, () => slipway.previews(slug), typed)
    const expected = stringOption(options, 'version')
    const { versions } = await slipway.versions(slug)
    const versionId = expected && (await findVersionId(work, versions, expected))
    const promoted = await slipway.promote(slug, name, versionId).catch((error: unknown) => {
      throw toUnknownPreview(work, error)
    })
    const version = describeVersion(promoted.versionId, work.retryPolicy.now(), versions)
    reportRestored(work, options, site, promoted, `Promoted ${name}: ${version} is live`)
  },
}
