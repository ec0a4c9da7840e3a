import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import { publishChange } from './publish-change.ts'

/** Types of uploaded link preview images, with the ending of their names. */
const ENDINGS: Record<string, string> = { 'image/png': 'png', 'image/jpeg': 'jpg', 'image/webp': 'webp' }

export const UPLOADABLE_TYPES = Object.keys(ENDINGS).join()

/** Larger images are not fetched by some social networks, in bytes. */
const MAX_UPLOAD_BYTES = 5_000_000

/** The name of an uploaded image. It changes with the image, because social networks cache images by their URL. */
const UPLOADED_NAME = /^link-preview-[0-9a-f]{8}\.(png|jpg|webp)$/

/** Why an image cannot be uploaded; undefined when it can. */
export async function findPictureError(picture: File): Promise<string | undefined> {
  if (!(picture.type in ENDINGS)) return 'Choose a PNG, JPEG or WebP image.'
  if (picture.size > MAX_UPLOAD_BYTES) return 'Choose an image of at most 5 MB.'
  try {
    const bitmap = await createImageBitmap(picture)
    bitmap.close()
    return undefined
  } catch {
    return `Couldn't open ${picture.name}. It may be damaged.`
  }
}

/**
 * Publishes a version with the image in its top folder, set as the link preview's image. It replaces an image that was
 * uploaded in this way before.
 */
export async function uploadPicture(site: SiteDetails, picture: File, onLive: () => void): Promise<void> {
  const path = `link-preview-${randomHex()}.${ENDINGS[picture.type]}`
  const { files, viewer } = site
  const { ogImagePath } = viewer
  const isReplaced = UPLOADED_NAME.test(ogImagePath ?? '') && files.some((file) => file.path === ogImagePath)
  await publishChange(
    site,
    {
      put: { [path]: picture },
      ...(isReplaced && { delete: [ogImagePath!] }),
      ogImagePath: path,
      message: 'Add link preview image',
      done: 'Link preview image published.',
    },
    onLive,
  )
}

/** 8 hexadecimal digits. */
function randomHex(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(4))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
