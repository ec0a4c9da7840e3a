import type { PreviewList } from '../../../protocol/api/previews.schema.ts'
import * as shape from '../../../protocol/api/previews.schema.ts'
import { object, text } from '../../../protocol/api/schema.ts'
import { site } from './arguments.ts'
import { itemOf, project } from './projection.ts'
import { published } from './publish-tools.ts'
import { MAX_LISTED, READ, REPLACE, type Tool } from './tool.ts'

const summary = project(
  itemOf(shape.previewList, 'previews'),
  ['name', 'url', 'versionId', 'expiresAt'],
  ['publishedBy', 'message', 'fileCount', 'changes'],
)

const preview = text('Name of the preview')

export const PREVIEW_TOOLS: readonly Tool[] = [
  {
    name: 'list_previews',
    title: 'List previews',
    description: 'Lists the previews of a site, which publish_site creates with the argument preview.',
    input: object({ slug: site }),
    annotations: READ,
    scope: 'read',
    call: async (api, { slug }) => {
      const { previews } = await api.call<PreviewList>('listPreviews', { params: { slug } })
      return { previews: previews.slice(0, MAX_LISTED).map(summary.of), total: previews.length }
    },
  },
  {
    name: 'promote_preview',
    title: 'Make a preview live',
    description: 'Makes the version that a preview shows the live version of its site.',
    input: object(
      { slug: site, preview },
      { versionId: text('VERSION_CONFLICT if the preview shows another version') },
    ),
    annotations: REPLACE,
    scope: 'publish',
    call: async (api, { slug, preview, versionId }) =>
      published.of(
        await api.call('promotePreview', { params: { slug, name: preview }, query: { versionId } }),
      ),
  },
  {
    name: 'delete_preview',
    title: 'Delete a preview',
    description: 'Deletes a preview of a site. The live site stays.',
    input: object({ slug: site, preview }),
    annotations: REPLACE,
    scope: 'publish',
    call: (api, { slug, preview }) => api.call('deletePreview', { params: { slug, name: preview } }),
  },
]
