import { openSite } from './account.ts'
import { type Command, SITE_OPTIONS, stringOption } from './command.ts'
import { resolvePreview, toUnknownPreview } from './previews.ts'
import { reportRestored } from './restore.ts'
import { describeVersion } from './version-id.ts'

/** `slipway promote [preview]` */
export const promote: Command = {
  name: 'promote',
  operands: '[preview]',
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
    const expected = stringOption(options, 'version')?.toLowerCase()
    const { versions } = await slipway.versions(slug)
    const promote = async () => {
      const shown = expected && (await slipway.preview(slug, name)).versionId
      // The server refuses the start of another id, too.
      return slipway.promote(slug, name, shown?.startsWith(expected!) ? shown : expected)
    }
    const promoted = await promote().catch((error: unknown) => {
      throw toUnknownPreview(work, error)
    })
    const version = describeVersion(promoted.versionId, work.retryPolicy.now(), versions)
    reportRestored(work, options, site, promoted, `Promoted ${name}: ${version} is live`)
  },
}
