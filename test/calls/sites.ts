import type { Call } from '../calls.ts'

const COLLEAGUE = { email: 'colleague@example.com' }

// biome-ignore format: one row per call
export const SITE_CALLS = {
  listSites: { route: 'GET /api/v1/publishes', access: 'read account', writes: false, prepare: () => ({}), errors: [['VALIDATION_ERROR', { query: '?limit=0' }], ['VALIDATION_ERROR', { query: '?cursor=x' }]] },
  getSite: { route: 'GET /api/v1/publish/{slug}', access: 'read site', right: 'read', writes: false, prepare: async (f) => ({ path: await f.site() }) },
  updateMetadata: { route: 'PATCH /api/v1/publish/{slug}/metadata', access: 'manage site', right: 'publish', writes: true, prepare: async (f) => ({ path: await f.site(), json: { title: 'T' } }), errors: [['VALIDATION_ERROR', { json: { title: 5 } }]] },
  getVisits: { route: 'GET /api/v1/publish/{slug}/analytics', access: 'read site', right: 'read', writes: false, prepare: async (f) => ({ path: await f.site() }), errors: [['VALIDATION_ERROR', { query: '?range=x' }], ['VALIDATION_ERROR', { query: '?path=/&referrer=a.example' }]] },
  renameSite: { route: 'PATCH /api/v1/publish/{slug}/name', access: 'manage site', right: 'manage', writes: true, prepare: async (f) => ({ path: await f.site(), json: { name: f.name() } }), errors: [['VALIDATION_ERROR', { json: { name: 'www' } }]] },
  checkName: { route: 'GET /api/v1/names/{name}', access: 'read account', anonymous: true, writes: false, prepare: (f) => ({ path: { name: f.name() } }) },
  duplicateSite: { route: 'POST /api/v1/publish/{slug}/duplicate', access: 'publish account', right: 'publish', writes: true, prepare: async (f) => ({ path: await f.site() }) },
  deleteSite: { route: 'DELETE /api/v1/publish/{slug}', access: 'manage site', right: 'delete', unowned: (f) => f.unowned(), writes: true, prepare: async (f) => ({ path: await f.site() }), errors: [['VALIDATION_ERROR', { query: '?permanent=x' }], ['VALIDATION_ERROR', { json: { claimToken: 5 } }]] },
  undeleteSite: { route: 'POST /api/v1/publish/{slug}/undelete', access: 'manage site', right: 'own', writes: true, prepare: async (f) => ({ path: await f.deletedSite() }) },
  listCollaborators: { route: 'GET /api/v1/publish/{slug}/collaborators', access: 'manage site', right: 'read', writes: false, prepare: async (f) => ({ path: await f.site() }) },
  addCollaborator: { route: 'POST /api/v1/publish/{slug}/collaborators', access: 'manage credentials', right: 'manage', writes: true, prepare: async (f) => ({ path: await f.site(), json: COLLEAGUE }), errors: [['VALIDATION_ERROR', { json: { email: 'no address' } }]] },
  removeCollaborator: { route: 'DELETE /api/v1/publish/{slug}/collaborators', access: 'manage site', right: 'delete', writes: true, prepare: async (f) => ({ path: await f.sharedSite(COLLEAGUE.email), json: COLLEAGUE }), errors: [['NOT_FOUND', { json: { email: 'unknown@example.com' } }]] },
  claimSite: { route: 'POST /api/v1/publish/{slug}/claim', access: 'publish account', writes: true, prepare: async (f) => f.claim(), errors: [['INVALID_CLAIM_TOKEN', { json: { claimToken: 'x' } }], ['VALIDATION_ERROR', { json: { claimToken: 'x'.repeat(101) } }]] },
  previewClaim: { route: 'POST /api/v1/publish/{slug}/claim/preview', access: 'public', writes: false, prepare: async (f) => f.claim(), errors: [['INVALID_CLAIM_TOKEN', { json: { claimToken: 'x' } }], ['VALIDATION_ERROR', { json: { claimToken: 5 } }]] },
  reportPage: { route: 'POST /api/reports', access: 'public', writes: false, prepare: async (f) => ({ json: { url: (await f.site()).siteUrl, reason: 'other' } }), errors: [['VALIDATION_ERROR', { json: { url: 'https://example.com/', reason: 'other' } }]] },
} satisfies Record<string, Call>
