import { toTarget } from '../api/api.ts'
import { buildTar } from '../api/pending-version.ts'
import { webp } from '../api/webp.ts'
import type { Call, CallRequest } from '../calls.ts'

const PAGE = { headers: { accept: 'application/json', 'content-type': 'text/html' }, body: '<p>new</p>' }
const FILE = { 'index.html': 'new' }

/** A request to a signed URL. */
function toSigned(target: { url: string; headers: Record<string, string> }): CallRequest {
  const [, path, query] = /^\/api\/v1\/_upload\/(.*)(\?.*)$/.exec(toTarget(target.url))!
  const [slug, versionId] = path!.split('/')
  return {
    path: { path: decodeURIComponent(path!), slug, versionId },
    query: query!,
    headers: target.headers,
  }
}

// biome-ignore format: one row per call
export const PUBLISH_CALLS = {
  getLimits: { route: 'GET /api/v1/limits', access: 'any', anonymous: true, writes: false, prepare: () => ({}), errors: [['VALIDATION_ERROR', { query: '?site=a&site=b' }]] },
  createSite: { route: 'POST /api/v1/publish', access: 'publish account', anonymous: true, writes: true, prepare: (f) => ({ json: f.manifest() }), errors: [['VALIDATION_ERROR', { json: { files: [] } }]] },
  updateSite: { route: 'PUT /api/v1/publish/{slug}', access: 'publish site', previews: true, right: 'publish', unowned: (f) => f.unowned({ json: f.manifest() }), writes: true, prepare: async (f) => ({ path: await f.site(), json: f.manifest() }), errors: [['VALIDATION_ERROR', { json: { files: [] } }]] },
  uploadSite: { route: 'PUT /', access: 'publish account', anonymous: true, writes: true, prepare: () => PAGE, errors: [['UNSUPPORTED_MEDIA_TYPE', { body: 'text', headers: { 'content-type': 'text/plain' } }]] },
  uploadVersion: { route: 'PUT /{slug}', access: 'publish site', previews: true, right: 'publish', unowned: (f) => f.unowned(PAGE), writes: true, prepare: async (f) => ({ path: await f.site(), ...PAGE }), errors: [['UNSUPPORTED_MEDIA_TYPE', { body: 'text', headers: { 'content-type': 'text/plain' } }]] },
  uploadBundle: { route: 'PUT /api/v1/_upload/{slug}/{versionId}', access: 'public', writes: false, prepare: async (f) => ({ ...toSigned((await f.pendingVersion()).upload.bundle!), body: buildTar(FILE) }), errors: [['INVALID_UPLOAD_TOKEN', { query: '' }], ['CONTENT_TYPE_MISMATCH', { headers: { 'content-type': 'application/gzip' } }]] },
  uploadFile: { route: 'PUT /api/v1/_upload/{path}', access: 'public', writes: false, prepare: async (f) => ({ ...toSigned((await f.pendingVersion()).upload.uploads[0]!), body: FILE['index.html'] }), errors: [['INVALID_UPLOAD_TOKEN', { query: '' }], ['SIZE_MISMATCH', { body: 'longer' }], ['HASH_MISMATCH', { body: 'old' }], ['CONTENT_TYPE_MISMATCH', { headers: { 'content-type': 'text/plain' } }], ['CONTENT_TYPE_MISMATCH', { headers: { 'content-type': 'text/html; charset=utf-16' } }]] },
  refreshUploads: { route: 'POST /api/v1/publish/{slug}/uploads/refresh', access: 'publish site', previews: true, right: 'publish', writes: false, prepare: async (f) => f.aboutVersion(await f.pendingVersion()), errors: [['VALIDATION_ERROR', { json: { versionId: 7 } }], ['VALIDATION_ERROR', { json: { versionId: 'x', claimToken: 7 } }], ['NOT_FOUND', { json: { versionId: 'x' } }]] },
  finalizeVersion: { route: 'POST /api/v1/publish/{slug}/finalize', access: 'publish site', previews: true, right: 'publish', writes: true, prepare: async (f) => f.aboutVersion(await f.uploadedVersion()), errors: [['VALIDATION_ERROR', { json: {} }], ['VALIDATION_ERROR', { json: { versionId: 'x', live: 'no' } }], ['NOT_FOUND', { json: { versionId: '0'.repeat(26) } }]] },
  listVersions: { route: 'GET /api/v1/publish/{slug}/versions', access: 'read site', right: 'read', writes: false, prepare: async (f) => ({ path: await f.site() }) },
  getVersion: { route: 'GET /api/v1/publish/{slug}/versions/{versionId}', access: 'read site', right: 'read', writes: false, prepare: async (f) => ({ path: await f.site() }) },
  restoreVersion: { route: 'POST /api/v1/publish/{slug}/versions/{versionId}/restore', access: 'publish site', right: 'publish', writes: true, prepare: async (f) => ({ path: await f.earlierVersion() }), errors: [['VERSION_CONFLICT', { query: '?baseVersionId=x' }]] },
  deleteVersion: { route: 'DELETE /api/v1/publish/{slug}/versions/{versionId}', access: 'manage site', previews: true, right: 'remove', writes: true, prepare: async (f) => ({ path: await f.earlierVersion() }) },
  createPreviewLink: { route: 'POST /api/v1/publish/{slug}/preview', access: 'read site', right: 'read', writes: false, prepare: async (f) => ({ path: await f.site() }), errors: [['NOT_FOUND', { query: '?versionId=x' }]] },
  putThumbnail: { route: 'PUT /api/v1/publish/{slug}/versions/{versionId}/thumbnail', access: 'publish site', right: 'publish', unowned: (f) => f.unowned({ headers: { 'content-type': 'image/webp' }, body: webp(1, 1) }), writes: true, prepare: async (f) => ({ path: await f.site(), headers: { 'content-type': 'image/webp' }, body: webp(1, 1) }), errors: [['VALIDATION_ERROR', { body: webp(1281, 1) }], ['UNSUPPORTED_MEDIA_TYPE', { headers: { 'content-type': 'image/png' } }]] },
  getThumbnail: { route: 'GET /api/v1/publish/{slug}/versions/{versionId}/thumbnail', access: 'read site', anonymous: true, writes: false, prepare: async (f) => ({ path: await f.thumbnail() }) },
  downloadFile: { route: 'GET /api/v1/publish/{slug}/files/{path}', access: 'read site', right: 'read', writes: false, prepare: async (f) => ({ path: { ...(await f.site()), path: 'a.txt' } }), errors: [['NOT_FOUND', { query: '?versionId=x' }], ['VALIDATION_ERROR', { query: '?versionId=x&versionId=y' }]] },
  downloadArchive: { route: 'GET /api/v1/publish/{slug}/archive', access: 'read site', right: 'read', writes: false, prepare: async (f) => ({ path: await f.site() }), errors: [['NOT_FOUND', { query: '?versionId=x' }], ['VALIDATION_ERROR', { query: '?format=rar' }]] },
  listPreviews: { route: 'GET /api/v1/publish/{slug}/previews', access: 'read site', right: 'read', writes: false, prepare: async (f) => ({ path: await f.site() }) },
  getPreview: { route: 'GET /api/v1/publish/{slug}/previews/{name}', access: 'read site', right: 'read', writes: false, prepare: async (f) => ({ path: await f.preview() }) },
  promotePreview: { route: 'POST /api/v1/publish/{slug}/previews/{name}/promote', access: 'publish site', right: 'publish', writes: true, prepare: async (f) => ({ path: await f.preview() }), errors: [['VERSION_CONFLICT', { query: '?versionId=x' }]] },
  deletePreview: { route: 'DELETE /api/v1/publish/{slug}/previews/{name}', access: 'preview site', right: 'remove', writes: true, prepare: async (f) => ({ path: await f.preview() }) },
} satisfies Record<string, Call>
