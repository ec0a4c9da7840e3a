import type { VisitorTexts } from './visitor-texts.ts'

export const PORTUGUESE: VisitorTexts = {
  siteNotFound: { title: 'Site não encontrado', text: 'Verifique se o endereço contém erros.' },
  siteNotPublished: {
    title: 'Site ainda não publicado',
    text: 'A primeira versão não está completa. Tente novamente mais tarde.',
  },
  versionNotFound: {
    title: 'Versão não encontrada',
    text: 'Esta versão do site nunca foi concluída ou foi eliminada.',
  },
  pageNotFound: {
    title: 'Página não encontrada',
    text: 'Verifique o endereço ou comece pela página inicial.',
  },
  siteExpired: { title: 'Este site expirou', text: 'Foi publicado por tempo limitado.' },
  badRequest: { title: 'Pedido inválido', text: 'O endereço ou o pedido não é válido.' },
  misdirected: {
    title: 'Pedido mal direcionado',
    text: 'Esta ligação pertence a outro site. Recarregue a página.',
  },
  methodNotAllowed: { title: 'Método não permitido', text: 'Este endereço não aceita esse tipo de pedido.' },
  preconditionFailed: { title: 'Pré-condição não satisfeita', text: 'O ficheiro foi alterado.' },
  rangeNotSatisfiable: {
    title: 'Intervalo não disponível',
    text: 'A parte pedida está além do fim do ficheiro.',
  },
  internalError: {
    title: 'Ocorreu um erro',
    text: 'O servidor não conseguiu concluir o pedido. Tente novamente mais tarde.',
  },
  unavailable: { title: 'Temporariamente indisponível', text: 'Tente novamente dentro de momentos.' },
  unreadableForm: {
    title: 'Formulário ilegível',
    text: 'Volte atrás e introduza novamente a palavra-passe.',
  },
  siteSuspended: { title: 'Este site está suspenso', text: 'O operador deste serviço colocou-o offline.' },
  fileBlocked: { title: 'Ficheiro bloqueado', text: 'O operador deste serviço bloqueou este ficheiro.' },
  homePage: 'Ir para a página inicial',
  reportAbuse: 'Denunciar abuso',
  terms: 'Termos',
  imprint: 'Aviso legal',
  contactOperator: 'Contactar o operador',
  anonymousNotice: {
    title: 'Este site não foi verificado',
    text: 'Foi publicado sem conta em {service}. Não introduza palavras-passe nem dados de pagamento se não souber quem o publicou.',
    button: 'Continuar para o site',
  },
  password: {
    title: 'Este site está protegido por palavra-passe',
    text: 'Peça a palavra-passe ao proprietário.',
    label: 'Palavra-passe',
    button: 'Abrir o site',
    missing: 'Introduza a palavra-passe.',
    wrong: 'Palavra-passe incorreta. Tente novamente.',
    tooManyAttempts: 'Demasiadas palavras-passe incorretas. Tente novamente dentro de {minutes} min.',
  },
  report: {
    title: 'Denunciar uma página',
    text: 'O operador deste serviço recebe a sua denúncia.',
    url: 'Endereço da página',
    reason: 'Qual é o problema?',
    reasons: {
      phishing: 'Pede palavras-passe ou dados de pagamento de forma enganosa',
      malware: 'Distribui software malicioso',
      illegal: 'O conteúdo é ilegal',
      copyright: 'Viola os meus direitos de autor',
      other: 'Outra coisa',
    },
    details: 'Detalhes',
    email: 'O seu endereço de email, se o operador puder contactá-lo',
    button: 'Enviar denúncia',
    invalid: 'Verifique estes campos:',
    refused: 'A denúncia não foi aceite. Tente novamente mais tarde.',
  },
  reportReceived: { title: 'Denúncia recebida', text: 'Obrigado. O operador irá analisá-la.' },
  files: { title: 'Ficheiros', count: '{count} ficheiros, {size}', open: 'Abrir', download: 'Transferir' },
}
