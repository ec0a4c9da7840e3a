import type { VisitorTexts } from './visitor-texts.ts'

export const SPANISH: VisitorTexts = {
  siteNotFound: { title: 'Sitio no encontrado', text: 'Compruebe que la dirección no tenga errores.' },
  siteNotPublished: {
    title: 'Sitio aún no publicado',
    text: 'Su primera versión no está completa. Inténtelo de nuevo más tarde.',
  },
  versionNotFound: {
    title: 'Versión no encontrada',
    text: 'Esta versión del sitio nunca se completó, o se ha eliminado.',
  },
  pageNotFound: {
    title: 'Página no encontrada',
    text: 'Compruebe la dirección o empiece por la página de inicio.',
  },
  siteExpired: { title: 'Este sitio ha caducado', text: 'Se publicó por un tiempo limitado.' },
  badRequest: { title: 'Solicitud incorrecta', text: 'La dirección o la solicitud no es válida.' },
  misdirected: {
    title: 'Solicitud mal dirigida',
    text: 'Esta conexión pertenece a otro sitio. Vuelva a cargar la página.',
  },
  methodNotAllowed: { title: 'Método no permitido', text: 'Esta dirección no admite ese tipo de solicitud.' },
  preconditionFailed: { title: 'Condición previa no cumplida', text: 'El archivo ha cambiado.' },
  rangeNotSatisfiable: {
    title: 'Rango no disponible',
    text: 'La parte solicitada está más allá del final del archivo.',
  },
  internalError: {
    title: 'Se ha producido un error',
    text: 'El servidor no pudo completar la solicitud. Inténtelo de nuevo más tarde.',
  },
  unavailable: { title: 'No disponible temporalmente', text: 'Inténtelo de nuevo en un momento.' },
  unreadableForm: { title: 'Formulario ilegible', text: 'Vuelva atrás e introduzca la contraseña de nuevo.' },
  siteSuspended: {
    title: 'Este sitio está suspendido',
    text: 'El operador de este servicio lo ha retirado.',
  },
  fileBlocked: {
    title: 'Archivo bloqueado',
    text: 'El operador de este servicio ha bloqueado este archivo.',
  },
  homePage: 'Ir a la página de inicio',
  reportAbuse: 'Denunciar un abuso',
  terms: 'Condiciones',
  imprint: 'Aviso legal',
  contactOperator: 'Contactar con el operador',
  anonymousNotice: {
    title: 'Este sitio no está verificado',
    text: 'Se publicó sin cuenta en {service}. No introduzca contraseñas ni datos de pago si no sabe quién lo ha publicado.',
    button: 'Continuar al sitio',
  },
  password: {
    title: 'Este sitio está protegido con contraseña',
    text: 'Pida la contraseña a su propietario.',
    label: 'Contraseña',
    button: 'Abrir el sitio',
    missing: 'Introduzca la contraseña.',
    wrong: 'Contraseña incorrecta. Inténtelo de nuevo.',
    tooManyAttempts: 'Demasiadas contraseñas incorrectas. Inténtelo de nuevo en {minutes} min.',
  },
  report: {
    title: 'Denunciar una página',
    text: 'El operador de este servicio recibe su denuncia.',
    url: 'Dirección de la página',
    reason: '¿Cuál es el problema?',
    reasons: {
      phishing: 'Pide contraseñas o datos de pago mediante engaño',
      malware: 'Distribuye software malicioso',
      illegal: 'Su contenido es ilegal',
      copyright: 'Infringe mis derechos de autor',
      other: 'Otra cosa',
    },
    details: 'Detalles',
    email: 'Su dirección de correo, si el operador puede preguntarle',
    button: 'Enviar denuncia',
    invalid: 'Compruebe estos campos:',
    refused: 'La denuncia no se ha aceptado. Inténtelo de nuevo más tarde.',
  },
  reportReceived: { title: 'Denuncia recibida', text: 'Gracias. El operador la revisará.' },
  files: { title: 'Archivos', count: '{count} archivos, {size}', open: 'Abrir', download: 'Descargar' },
}
